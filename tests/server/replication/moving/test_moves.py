"""A replica that moves between data directories of a broker, while it is used."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar, cast

import pytest

from barnabas.server.core.turns import Waiting
from barnabas.server.handlers import list_offsets
from barnabas.server.replication.partition import Partition
from barnabas.server.requests.context import RequestContext
from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.batch.steps import finished
from barnabas.storage.directory_names import FUTURE, TopicPartition
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
)
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from tests.server.raw_client import RawClient
from tests.server.records import NOW_MS, fetch_request, fetched, make_batch, produce
from tests.server.waiting import wait_until

T = TypeVar("T")
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
SLOW = 20_000


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "two"]


def started(paths: list[Path], **settings: str) -> Broker:
    dirs = ",".join(map(str, paths))
    own = {name.replace("_", "."): value for name, value in settings.items()}
    own = {"log.segment.bytes": "65536", "log.retention.ms": "-1", **own}
    return Broker({"log.dirs": dirs, **own})


@pytest.fixture
def two(paths: list[Path]) -> Iterator[Broker]:
    with started(paths) as broker:
        yield broker


def home(paths: list[Path], topic: str) -> Path:
    (found,) = [path for path in paths if (path / f"{topic}-0").exists()]
    return found


def other(paths: list[Path], topic: str) -> Path:
    (found,) = [path for path in paths if path != home(paths, topic)]
    return found


def futures(paths: list[Path]) -> list[Path]:
    return [each for path in paths for each in path.glob(f"*{FUTURE}")]


def move(client: RawClient, topic: str, path: Path) -> int:
    wanted = AlterReplicaLogDir(
        path=str(path), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])]
    )
    (result,) = client.call(AlterReplicaLogDirsRequest(dirs=[wanted]), 2).results
    code: int = result.partitions[0].error_code
    return code


def wait_for_home(paths: list[Path], topic: str, target: Path) -> None:
    wait_until(lambda: [path for path in paths if (path / f"{topic}-0").exists()] == [target])


def described(client: RawClient, path: Path, topic: str) -> list[DescribeLogDirsPartition]:
    return [
        partition
        for result in client.call(DescribeLogDirsRequest(topics=None), 4).results
        if result.log_dir == str(path)
        for each in result.topics
        if each.name == topic
        for partition in each.partitions
    ]


def throttle(broker: Broker, bytes_per_second: int) -> None:
    async def set_it() -> None:
        quota = broker.server.moves.quota
        quota.configure(0, bytes_per_second, 11, 1)

    broker.run(set_it())


def fill(client: RawClient, topic: str, count: int = 60, size: int = 4_000) -> None:
    for number in range(count):
        answer = produce(client, topic, make_batch(*[b"%06d" % number + b"x" * size]))
        assert answer.error_code == 0


def partition_of(broker: Broker, topic: str) -> Partition:
    found = broker.server.replicas.find(topic, 0)
    assert found is not None
    return found


def content(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.glob("*.log")))


def in_broker(broker: Broker, call: Callable[[], object]) -> object:
    async def do() -> object:
        return call()

    return broker.run(do())


def test_back_and_forth_with_every_byte(two: Broker, paths: list[Path]) -> None:
    two.create_topic("t")
    with RawClient(two.port) as client:
        fill(client, "t")
        expected = content(home(paths, "t") / "t-0")
        for number in range(4):
            target = other(paths, "t")
            assert move(client, "t", target) == 0
            wait_for_home(paths, "t", target)
            assert content(target / "t-0") == expected
            assert produce(client, "t", make_batch(b"after %d" % number)).error_code == 0
            expected = content(target / "t-0")
        assert partition_of(two, "t").log.high_watermark == 64
        assert two.server.moves.moved_count == 4
    assert futures(paths) == []


def test_what_is_set_aside_goes_after_the_delay(paths: list[Path]) -> None:
    with started(paths, log_segment_delete_delay_ms="100") as broker:
        broker.create_topic("t")
        with RawClient(broker.port) as client:
            fill(client, "t", 5)
            here, target = home(paths, "t"), other(paths, "t")
            move(client, "t", target)
            wait_for_home(paths, "t", target)
            wait_until(lambda: not list(here.glob("t-0*")))
    assert [each.name for each in target.glob("t-0*")] == ["t-0"]


def test_a_move_is_seen_while_it_goes_on_and_can_be_cancelled(
    two: Broker, paths: list[Path]
) -> None:
    two.create_topic("t")
    throttle(two, SLOW)
    with RawClient(two.port) as client:
        fill(client, "t", 600)
        here, target = home(paths, "t"), other(paths, "t")
        assert move(client, "t", target) == 0
        assert move(client, "t", target) == 0, "asked for again"
        wait_until(lambda: described(client, target, "t")[0].partition_size > 0)
        (future,), (current,) = described(client, target, "t"), described(client, here, "t")
        assert future.is_future_key and not current.is_future_key
        assert 0 < future.offset_lag < 600 and current.offset_lag == 0
        sources = {source.name: source for source in two.server.metrics.sources}
        manager = "kafka_server_replicaalterlogdirsmanager"
        for name, value in (("maxlag", future.offset_lag), ("partitioncount", 1), ("moves", 0)):
            assert list(sources[f"{manager}_{name}"].read()) == [((), value)], name
        assert (len(two.server.moves), len(futures(paths))) == (1, 1)
        assert move(client, "t", here) == 0
        assert described(client, target, "t") == [] and futures(paths) == []
        assert len(two.server.moves) == 0
        assert home(paths, "t") == here
        throttle(two, 2**63 - 1)
        assert move(client, "t", target) == 0
        wait_for_home(paths, "t", target)


def test_the_throttle_holds(two: Broker, paths: list[Path]) -> None:
    """Its setting too, which is one of those that change while the broker runs."""
    assert two.server.config.replica_alter_log_dirs_io_max_bytes_per_second == 2**63 - 1
    two.create_topic("t")
    throttle(two, SLOW)
    with RawClient(two.port) as client:
        fill(client, "t", 300)
        target = other(paths, "t")
        move(client, "t", target)
        wait_until(lambda: two.server.moves.copied_bytes > SLOW)
        assert two.server.moves.quota.is_exceeded
        assert home(paths, "t") != target
        throttle(two, 2**63 - 1)
        wait_for_home(paths, "t", target)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_restart_goes_on(paths: list[Path], is_killed: bool) -> None:
    with started(paths) as broker:
        broker.create_topic("t")
        throttle(broker, SLOW)
        with RawClient(broker.port) as client:
            fill(client, "t", 600)
            here, target = home(paths, "t"), other(paths, "t")
            move(client, "t", target)
            wait_until(lambda: described(client, target, "t")[0].partition_size > 0)
        (before,) = futures(paths)
        expected = content(here / "t-0")
        if is_killed:
            broker.kill()
        else:
            broker.stop()
        assert futures(paths) == [before]
        copied = content(before)
        assert copied and expected.startswith(copied) and copied != expected
        broker.start()
        wait_for_home(paths, "t", target)
        assert content(target / "t-0") == expected
        assert broker.server.moves.copied_bytes < len(expected), "not from its beginning"
    assert futures(paths) == []


def test_a_topic_that_is_deleted_takes_the_move_along(two: Broker, paths: list[Path]) -> None:
    two.create_topic("t")
    throttle(two, SLOW)
    with RawClient(two.port) as client:
        fill(client, "t", 600)
        move(client, "t", other(paths, "t"))
        wait_until(lambda: futures(paths) != [])
        client.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 5)
        wait_until(lambda: not any((path / "t-0").exists() for path in paths))
        assert futures(paths) == [] and len(two.server.moves) == 0
        two.create_topic("t")
        assert produce(client, "t", make_batch(b"new")).error_code == 0


def test_truncation_and_deletion_are_followed(two: Broker, paths: list[Path]) -> None:
    """The log is cut as a follower's is, in the middle of the move, and goes on otherwise."""
    two.create_topic("t")
    throttle(two, 300_000)
    with RawClient(two.port) as client:
        fill(client, "t", 600)
        target = other(paths, "t")
        move(client, "t", target)
        log = partition_of(two, "t").log

        def copied() -> int:
            future = two.server.disks.futures.find(TopicPartition("t", 0))
            return 0 if future is None else future.log_end_offset

        wait_until(lambda: copied() > 100)

        def cut() -> None:
            log.maybe_increment_log_start_offset(20)
            log.truncate_to(50, 0)
            log.assign_epoch(1, 50)
            partition_of(two, "t").leader_epoch = 1

        in_broker(two, cut)
        for _ in range(30):
            assert produce(client, "t", make_batch(b"other")).error_code == 0
        expected = content(home(paths, "t") / "t-0")
        throttle(two, 2**63 - 1)
        wait_for_home(paths, "t", target)
        moved = partition_of(two, "t").log
        assert (moved.log_start_offset, moved.log_end_offset) == (20, 80)
        assert moved.epochs.entries() == log.epochs.entries()
        assert expected.endswith(content(target / "t-0")), "what was deleted was not copied"


@pytest.mark.broker_says("planted; its partitions are offline", "a data directory failed")
@pytest.mark.parametrize("which", ["source", "target"])
def test_a_directory_that_fails(two: Broker, paths: list[Path], which: str) -> None:
    two.create_topic("t")
    throttle(two, SLOW)
    with RawClient(two.port) as client:
        fill(client, "t", 600)
        here, target = home(paths, "t"), other(paths, "t")
        move(client, "t", target)
        wait_until(lambda: described(client, target, "t")[0].partition_size > 0)
        failing = here if which == "source" else target
        (directory,) = [d for d in two.server.disks.directories if d.path == str(failing)]
        in_broker(two, lambda: directory.fail(OSError("planted")))
        assert len(two.server.moves) == 0
        if which == "target":
            assert produce(client, "t", make_batch(b"x")).error_code == 0
        else:
            assert two.server.replicas.is_offline("t", 0)
        two.kill()
        two.start()
    wait_for_home(paths, "t", target)  # both directories are back


@pytest.mark.broker_says(
    "planted; its partitions are offline", "a data directory failed", "could not be moved"
)
def test_a_move_that_fails_its_own_directory_is_over(
    two: Broker, paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hears of that in the midst of its own step, and does not count as failed after."""
    two.create_topic("t")
    with RawClient(two.port) as client:
        fill(client, "t", 5)
        target = other(paths, "t")
        (directory,) = [d for d in two.server.disks.directories if d.path == str(target)]

        def rename(name: str, new_name: str) -> None:
            raise OSError("planted")

        monkeypatch.setattr(directory, "rename", rename)
        move(client, "t", target)
        wait_until(lambda: not directory.is_online)
        moves = two.server.moves
        assert in_broker(two, lambda: (len(moves), len(moves.failed))) == (0, 0)
        assert produce(client, "t", make_batch(b"x")).error_code == 0


def test_compaction_waits_for_the_move(paths: list[Path]) -> None:
    with started(
        paths, log_cleaner_backoff_ms="50", log_cleaner_min_cleanable_ratio="0.01"
    ) as broker:
        broker.create_topic("t", settings={"cleanup.policy": "compact"})
        throttle(broker, SLOW)
        with RawClient(broker.port) as client:
            move_to = other(paths, "t")
            log = partition_of(broker, "t").log
            in_broker(broker, lambda: broker.server.disks.scheduler.forget(log))
            fill_keyed(client, "t")
            move(client, "t", move_to)
            candidates = in_broker(
                broker,
                lambda: [c.topic_partition for c in broker.server.disks.scheduler.candidates(0)],
            )
            assert candidates == []
            throttle(broker, 2**63 - 1)
            wait_for_home(paths, "t", move_to)
            new = partition_of(broker, "t").log
            assert isinstance(new, ManagedLog) and new is not log
            wait_until(lambda: new.size_bytes < 200_000)


def fill_keyed(client: RawClient, topic: str) -> None:
    for number in range(200):
        batch = make_batch(b"%d" % number + b"x" * 4_000, keys=[b"k"])
        assert produce(client, topic, batch).error_code == 0


def test_who_waits_for_a_flush_is_answered_through_moves(two: Broker, paths: list[Path]) -> None:
    """With `flush.messages` an acknowledgement waits for the log that is in use by then."""
    two.create_topic("t", settings={"flush.messages": 1})
    over = threading.Event()
    took_s: list[float] = []

    def write() -> None:
        with RawClient(two.port) as client:
            while not over.is_set():
                begun = time.monotonic()
                assert produce(client, "t", make_batch(b"x" * 2_000), acks=-1).error_code == 0
                took_s.append(time.monotonic() - begun)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with RawClient(two.port) as client:
            for _ in range(4):
                target, count = other(paths, "t"), len(took_s)
                assert move(client, "t", target) == 0
                wait_for_home(paths, "t", target)
                wait_until(partial(more_than, took_s, count + 20))
    finally:
        over.set()
        thread.join()
    assert max(took_s) < 10
    log = partition_of(two, "t").log
    assert log.log_end_offset == len(took_s) and log.recovery_point == log.log_end_offset


def more_than(items: list[float], count: int) -> bool:
    return len(items) > count


def test_it_is_read_where_it_is(two: Broker, paths: list[Path]) -> None:
    two.create_topic("t")
    with RawClient(two.port) as client:
        fill(client, "t", 50)
        for _ in range(3):
            target = other(paths, "t")
            move(client, "t", target)
            wait_for_home(paths, "t", target)
            answer = fetched(client.call(fetch_request("t", 7), 11))["t", 0]
            assert (answer.error_code, answer.high_watermark) == (0, 50)
            assert len(answer.records) > 0


def test_a_look_up_by_time_goes_on_where_the_log_has_gone(
    two: Broker, paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for a cold page, the directory goes that it was to look into."""

    def waits(_: Partition, __: RequestContext, look_up: Callable[[], T]) -> Waiting[T]:
        yield None
        return look_up()

    monkeypatch.setattr(list_offsets, "_warmed", waits)
    two.create_topic("t")
    with RawClient(two.port) as client:
        records = [Record(n, NOW_MS + n, b"k", b"v") for n in range(4_000)]
        assert produce(client, "t", build_batch(records)).error_code == 0
        steps = list_offsets._look_up_where_it_is(
            partition_of(two, "t"), NOW_MS + 3_500, ListOffsetsRequest(replica_id=-1, topics=[]),
            cast("RequestContext", SimpleNamespace(api_version=7, broker=two.server)),
        )  # fmt: skip
        two.call(lambda: next(steps))
        target = other(paths, "t")
        assert move(client, "t", target) == 0
        wait_for_home(paths, "t", target)
    assert two.call(lambda: finished(steps)).offset == 3_500


def test_a_copy_that_lies_beside_its_log_is_no_move(two: Broker, paths: list[Path]) -> None:
    two.create_topic("t")
    partition = partition_of(two, "t")
    log = partition.log

    def begin() -> int:
        log.data_directory.create_log(log.partition, log.config, 0, None, is_future=True)
        two.server.moves.hosted(partition)
        return len(two.server.moves)

    assert in_broker(two, begin) == 0
    assert partition_of(two, "t").log is log and log.data_directory.is_online
