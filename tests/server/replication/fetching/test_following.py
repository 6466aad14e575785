"""A follower copies its leader's log, and cuts from its own what the leader lacks."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.server.registry import paths
from tests.server.records import NOW_MS, make_batch
from tests.server.replication.fetching.two_brokers import TOPIC, Scene, play
from tests.server.waiting import eventually

LATER = pytest.mark.parametrize("protocol", ["3.9", "3.5", "2.7", "2.6", "2.0", "1.1", "0.11.0"])


@LATER
def test_a_log_is_copied_byte_for_byte(tmp_path: Path, protocol: str) -> None:
    async def work(scene: Scene) -> None:
        await scene.create(partitions=3)
        for index in range(3):
            scene.write(0, *(b"%d-%d" % (index, n) for n in range(20)), index=index)
        for index in range(3):
            await scene.agree(index)
        scene.write(0, os.urandom(900_000), os.urandom(900_000), b"after", index=1)
        await scene.agree(1)
        assert scene.replica(1, 1).log.log_end_offset == 23

    play(tmp_path, work, inter_broker_protocol_version=protocol)


@LATER
def test_records_that_the_new_leader_lacks_are_cut_off(tmp_path: Path, protocol: str) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a", b"b", b"c")
        await scene.agree()
        await scene.lead(1, told=(1,))
        scene.write(0, b"lost", b"too")  # its old leader does not know yet
        scene.write(1, b"d")
        await scene.lead(1)
        await scene.agree()
        assert scene.replica(0).log.log_end_offset == 4
        assert b"lost" not in scene.content(0)

    play(tmp_path, work, inter_broker_protocol_version=protocol)


def test_epochs_that_each_of_them_has_alone_are_cut_off_step_by_step(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a")
        await scene.agree()
        for turn in range(3):  # each writes in epochs of which the other hears only later
            await scene.lead(turn % 2, told=(turn % 2,))
            scene.write(turn % 2, b"%d" % turn, b"x")
        await scene.lead(1)
        await scene.agree()

    play(tmp_path, work)


def test_a_log_without_epochs_is_cut_to_its_high_watermark_first(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a", b"b")
        await scene.agree()
        await scene.lead(1, told=(1,))
        scene.write(1, b"c")
        scene.write(0, b"lost")
        log = scene.replica(0).log
        log.epochs.clear()
        log.update_high_watermark(2)
        await scene.lead(1)
        await eventually(lambda: b"lost" not in scene.content(0) and log.log_end_offset == 3)
        assert scene.content(0) == scene.content(1)

    play(tmp_path, work)


def test_what_the_leader_has_deleted_is_not_waited_for(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a")
        await scene.agree()
        await scene.cluster.stop(scene.brokers[1])
        scene.write(0, b"b", b"c", b"d")
        scene.replica(0).log.maybe_increment_log_start_offset(3)
        await scene.return_of(1)
        await scene.agree()
        assert scene.replica(1).log.log_start_offset == 3

    play(tmp_path, work)


def test_a_log_whose_leader_was_cut_within_a_batch_begins_with_that_batch(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        await scene.cluster.stop(scene.brokers[1])
        partition = scene.replica(0)
        partition.append(make_batch(b"a", b"b", b"c"), 1, NOW_MS)
        partition.log.maybe_increment_log_start_offset(1)
        await scene.return_of(1)
        await scene.agree()
        log = scene.replica(1).log
        assert (log.log_start_offset, log.segments.first.base_offset) == (1, 0)

    play(tmp_path, work)


def test_the_leaders_log_start_is_followed_and_told_back(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a", b"b", b"c")
        await scene.agree()
        scene.replica(0).log.maybe_increment_log_start_offset(2)
        await scene.agree()
        assert scene.replica(1).log.log_start_offset == 2

    play(tmp_path, work)


def test_a_log_that_reaches_beyond_its_leaders_is_cut(tmp_path: Path) -> None:
    """Below 2.7 nothing else tells of a leader that was elected uncleanly."""

    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a")
        await scene.agree()
        await scene.lead(0, told=(0,))
        log = scene.replica(1).log
        for value in (b"b", b"c"):
            scene.write(0, value)
        await eventually(lambda: log.log_end_offset == 1)
        scene.replica(0).log.truncate_to(1, 0)
        scene.write(0, b"d")
        await scene.lead(0)
        await scene.agree()

    play(tmp_path, work, inter_broker_protocol_version="2.6")


@LATER
def test_a_leader_that_has_lost_its_log_is_followed(tmp_path: Path, protocol: str) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a", b"b", b"c")
        await scene.agree()
        await scene.lead(1)
        scene.replica(1).log.truncate_fully_and_start_at(0, 0)
        await scene.lead(1)
        scene.write(1, b"z")
        await scene.agree()
        assert scene.replica(0).log.log_end_offset == 1

    play(tmp_path, work, inter_broker_protocol_version=protocol)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_batches_of_every_codec_are_copied_as_they_are(tmp_path: Path, codec: int) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        partition = scene.replica(0)
        for size in (1, 100, 10_000):
            batch = make_batch(b"v" * size, b"w" * size, codec=codec)
            partition.append(batch, 1, NOW_MS)
        scene.brokers[0].fetches.complete(partition.key)
        await scene.agree()

    play(tmp_path, work)


def test_a_small_segment_takes_what_comes_in_pieces(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create(segment_bytes="20000")
        scene.write(0, *(os.urandom(3_000) for _ in range(60)))
        await scene.agree()
        bases = [[each.base_offset for each in scene.replica(n).log.segments] for n in (0, 1)]
        assert bases[0] == bases[1] and len(bases[0]) > 5

    play(tmp_path, work)


def test_a_partition_that_is_deleted_while_records_come_takes_nothing_more(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create(partitions=4)
        for index in range(4):
            scene.write(0, *(os.urandom(200_000) for _ in range(20)), index=index)
        await eventually(lambda: scene.replica(1, 3).log.log_end_offset > 0)
        await scene.brokers[0].topics.mark_for_deletion(TOPIC)
        for broker in scene.brokers:
            assert await broker.topics.wait_until_deleted(TOPIC, 10_000)
            await eventually(lambda broker=broker: not broker.replicas.of_topic(TOPIC))
        await eventually(lambda: not scene.cluster.ensemble.tree.children(paths.DELETE_TOPICS))
        await scene.create()
        scene.write(0, b"new")
        await scene.agree()
        assert not scene.brokers[1].followers.failed

    play(tmp_path, work)


def test_the_connection_to_a_leader_of_nothing_is_ended(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        assert len(list(scene.brokers[1].followers)) == 1
        await scene.lead(1)
        await eventually(lambda: not list(scene.brokers[1].followers))
        await scene.lead(0)
        scene.write(0, b"a")
        await scene.agree()

    play(tmp_path, work, replica_fetch_backoff_ms="50")


def test_a_leader_that_comes_back_elsewhere_is_found(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a")
        await scene.agree()
        await scene.cluster.stop(scene.brokers[0])
        await scene.return_of(0)
        scene.write(0, b"b")
        await scene.agree()

    play(tmp_path, work)


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
@pytest.mark.broker_says("a partition cannot be opened", always=False)
def test_partitions_of_a_disk_that_fails_are_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create(partitions=2)
        lost, kept = (scene.replica(1, index) for index in range(2))
        failed = lost.log.data_directory
        assert failed is not kept.log.data_directory
        scene.write(0, b"a", index=0)
        await scene.agree(0)
        failed.fail(OSError(5, "Input/output error"))
        scene.write(0, b"b", index=0)
        scene.write(0, b"c", index=1)
        await scene.agree(1)
        assert list(next(iter(scene.brokers[1].followers)).table.all) == [kept.key]
        assert lost.log.log_end_offset == 1

    directories = ",".join(str(tmp_path / each) for each in ("1", "1b"))
    play(tmp_path, work, of_second={"log_dirs": directories})


def test_who_waits_on_a_follower_is_woken_when_its_high_watermark_moves(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        log, woken = scene.replica(1).log, asyncio.Event()
        scene.brokers[1].fetches.park(
            [(TOPIC, 0)], 60_000, lambda _: log.high_watermark == 1, lambda: None
        ).then(lambda _: woken.set())
        scene.write(0, b"a")
        await asyncio.wait_for(woken.wait(), 10)

    play(tmp_path, work)


def test_partitions_are_spread_over_as_many_fetchers_as_are_set(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create(partitions=6)
        follower = scene.brokers[1]
        for index in range(6):
            scene.write(0, b"a", index=index)
            await scene.agree(index)
        for count in (3, 1):
            follower.config.set_dynamic({}, {"num.replica.fetchers": str(count)})
            sizes = [len(fetcher.table) for fetcher in follower.followers]
            assert sum(sizes) == 6
            assert len([size for size in sizes if size]) == count
            for index in range(6):
                scene.write(0, b"b", index=index)
                await scene.agree(index)

    play(tmp_path, work)


def test_what_is_behind_stands_among_the_metrics(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        scene.write(0, b"a", b"b")
        await scene.agree()
        metrics = scene.brokers[1].metrics
        values = {source.name: list(source.read()) for source in metrics.sources}
        assert values["kafka_server_replicafetchermanager_maxlag"] == [((), 0)]
        assert values["kafka_server_fetcherlagmetrics_consumerlag"] == [((TOPIC, "0"), 0)]
        assert values["kafka_server_replicafetchermanager_failedpartitionscount"] == [((), 0)]
        copied = values["kafka_server_brokertopicmetrics_replicationbytesin"]
        assert copied == [((), len(scene.content(0)))]

    play(tmp_path, work)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_replica_that_is_behind_keeps_to_its_rate(tmp_path: Path, side: str) -> None:
    """Its rate allows the first of many batches, and then nothing for the length of this test."""

    async def work(scene: Scene) -> None:
        await scene.create(
            partitions=2,
            leader_replication_throttled_replicas="0:0",
            follower_replication_throttled_replicas="0:1",
        )
        for index in range(2):
            await scene.agree(index)
        await scene.lead(0)  # the follower is not in sync with it yet
        throttled = scene.brokers[0 if side == "leader" else 1]
        throttled.config.set_dynamic({}, {f"{side}.replication.throttled.rate": "10"})
        for index in range(2):
            scene.write(0, *(os.urandom(200_000) for _ in range(20)), index=index)
        await scene.agree(1)
        log = scene.replica(1, 0).log
        assert log.log_end_offset < 20
        throttled.config.set_dynamic({}, {})
        await scene.agree(0)

    play(tmp_path, work, replica_fetch_max_bytes="300000", replica_fetch_wait_max_ms="50")


def test_nothing_is_followed_by_a_broker_that_stops(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create()
        follower = scene.brokers[1]
        await follower.followers.stop()
        await scene.lead(0)  # the controller did not know yet
        scene.write(0, b"a")
        assert not list(follower.followers)
        assert scene.replica(1).log.log_end_offset == 0

    play(tmp_path, work)


def test_batches_larger_than_a_segment_may_be_by_now_are_copied(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.create(segment_bytes="20000")
        follower = scene.replica(1).log
        follower.update_config(replace(follower.config, segment_bytes=1_000))
        scene.write(0, *(os.urandom(5_000) for _ in range(6)))
        await scene.agree()
        assert len(follower.segments) == 6

    play(tmp_path, work)
