"""Groups come back out of the log: our own, Kafka's, damaged ones, many."""

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.coordinators import leadership, loading
from barnabas.server.coordinators.leadership import RELOAD_PAUSE_MS
from barnabas.server.coordinators.loading import SLICE_MS
from barnabas.server.coordinators.shards import Shard, ShardState
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.groups.commits import Committer, TransactionOf
from barnabas.server.groups.group import GroupState
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.groups.records import encode_offset, encode_offset_key
from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.records import Record
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.wire.error_codes import ErrorCode

from .golden import VERSIONS, unpack
from .world import Client, World, stable


def test_members_and_offsets_survive_a_new_leadership(world: World) -> None:
    first, second = Client(world), Client(world, instance_id="i")
    stable(world, first, second)
    world.commit(7, first.committer)
    before = world.group()
    world.reload()
    group = world.group()
    assert group is not before
    assert (group.state, group.generation) == (GroupState.STABLE, before.generation)
    assert (group.protocol_type, group.protocol_name) == ("consumer", "range")
    assert group.members.leader_id == first.member_id
    assert world.committed() == 7
    assert first.heartbeat() is ErrorCode.NONE
    assert second.sync() is ErrorCode.NONE
    assert second.synced is not None
    assert second.synced.assignment == second.member_id.encode()
    assert Client(world, instance_id="i").join() is ErrorCode.NONE
    world.clock.advance(5_000)
    assert first.heartbeat() is ErrorCode.NONE
    world.clock.advance(5_000)
    assert list(group.members.by_id) == [first.member_id], "sessions go on where they were"


def test_whoever_wants_to_know_is_told_of_a_loaded_partition(world: World) -> None:
    stable(world, Client(world))
    loaded: list[bool] = []
    world.groups.leadership.on_loaded = lambda: loaded.append(bool(world.group()))
    world.reload()
    assert loaded == [True]


def test_requests_while_loading(world: World) -> None:
    client = Client(world)
    stable(world, client)
    world.groups.leadership.resigned(0)
    assert client.heartbeat() is ErrorCode.NOT_COORDINATOR

    async def run() -> None:
        world.lead(0, 9)
        assert client.heartbeat() is ErrorCode.NONE, "the member is none the wiser"
        assert client.sync() is ErrorCode.REBALANCE_IN_PROGRESS
        assert client.join() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert client.leave() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert world.commit(1, client.committer) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        given_up = world.groups.shards.find(0)
        world.groups.leadership.resigned(0)
        assert world.groups.shards.find(0) is None
        world.lead(0, 10)
        await world.loaded()  # and the one before, for they come in turn
        assert given_up is not None and not given_up.is_active

    world.loop.run_until_complete(run())


def test_a_topic_that_is_deleted_while_its_offsets_are_loaded(world: World) -> None:
    world.commit(5)
    world.commit(6, topic="audit")
    world.groups.leadership.resigned(0)

    async def run() -> None:
        world.lead(0, 9)
        world.groups.topics_deleted(["orders"])
        await world.loaded()

    for _ in range(2):
        world.loop.run_until_complete(run())
        assert (world.committed(), world.committed("audit")) == (-1, 6)
        world.reload()
        assert (world.committed(), world.committed("audit")) == (-1, 6)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (GroupState.EMPTY, None),
        (GroupState.PREPARING_REBALANCE, "join NOT_COORDINATOR"),
        (GroupState.COMPLETING_REBALANCE, "sync NOT_COORDINATOR"),
        (GroupState.STABLE, "sync NONE"),
        (GroupState.DEAD, None),
    ],
)
def test_members_of_a_lost_partition_are_sent_away(
    world: World, state: GroupState, told: str | None
) -> None:
    leader, client = Client(world), Client(world)
    leader.join()
    client.join()
    if state is not GroupState.PREPARING_REBALANCE:
        world.clock.advance(0)
        client.sync()
    if state in (GroupState.EMPTY, GroupState.STABLE, GroupState.DEAD):
        leader.sync({})
    if state in (GroupState.EMPTY, GroupState.DEAD):
        client.leave()
        leader.leave()
    group = world.group()
    if state is GroupState.DEAD:
        world.groups.delete_group("g")
    assert group.state is state
    world.groups.leadership.resigned(0)
    assert group.state is GroupState.DEAD
    assert told is None or client.answers[-1] == told
    assert world.clock.timer_count() == 1


def test_tombstones_and_empty_groups(world: World) -> None:
    gone, empty = Client(world, "gone"), Client(world, "empty")
    for client in (gone, empty):
        stable(world, client)
        client.leave()
    world.commit(1, group="gone")
    world.groups.delete_group("gone")
    world.commit(1, group="simple")
    world.commit(2, group="simple")
    world.reload()
    assert world.groups.describe("gone") is None
    assert world.group("empty").state is GroupState.EMPTY
    assert world.group("empty").generation == 2
    assert world.group("simple").protocol_type is None
    assert world.committed(group="simple") == 2


@pytest.mark.parametrize(("outcome", "committed"), [("commit", 7), ("abort", 3), ("open", 3)])
def test_transactions(world: World, outcome: str, committed: int) -> None:
    world.commit(3)
    world.groups.commit_in_transaction(
        "g", Committer(), TransactionOf(5, 0), {("orders", 0): CommittedOffset(7)}, lambda _: None
    )
    if outcome != "open":
        end_transaction(world, 5, outcome == "commit")
    world.reload()
    assert world.committed() == committed
    assert world.group().offsets.is_unstable("orders", 0) == (outcome == "open")
    if outcome == "open":
        world.groups.end_transaction(5, [0], True)
        assert world.committed() == 7


def end_transaction(world: World, producer_id: int, is_commit: bool) -> None:
    """Write the marker that a transaction coordinator would."""
    partition = world.replicas.require(OFFSETS_TOPIC, 0)
    marker = build_end_transaction_marker(
        EndTransactionMarker(is_commit, 0), producer_id=producer_id, producer_epoch=0,
        timestamp_ms=world.clock.now_ms(),
    )  # fmt: skip
    partition.append(marker, 1, world.clock.now_ms(), origin=AppendOrigin.COORDINATOR)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_that_outlives_its_group(world: World, is_commit: bool) -> None:
    """Its topic is deleted, and with the offsets the group: the marker comes behind that."""
    client = Client(world)
    stable(world, client)
    client.leave()
    for group in ("g", "simple"):
        world.groups.commit_in_transaction(
            group,
            Committer(),
            TransactionOf(5, 0),
            {("orders", 0): CommittedOffset(7)},
            lambda _: None,
        )
    world.groups.topics_deleted(["orders"])
    end_transaction(world, 5, is_commit)
    world.commit(4, topic="audit", group="other")
    world.reload()
    assert world.groups.describe("g") is None
    assert world.committed("audit", group="other") == 4


def test_damaged_and_strange_records_are_skipped(world: World) -> None:
    partition = world.replicas.require(OFFSETS_TOPIC, 0)
    records = [
        Record(0, 0, b"\x00\x01", b"damaged key"),
        Record(1, 0, encode_offset_key("g", "orders", 0), b"\x00\x63damaged value"),
        Record(2, 0, b"\x00\x03\x00\x01g", b"a consumer group (KIP-848)"),
        Record(3, 0, encode_offset_key("g", "orders", 1), encode_offset(CommittedOffset(4))),
    ]
    partition.append(build_batch(records), 1, 0, origin=AppendOrigin.COORDINATOR)
    world.reload()
    assert (world.committed(), world.committed(partition=1)) == (-1, 4)


def test_a_group_over_its_size_rebalances(world: World) -> None:
    first, second = Client(world), Client(world)
    stable(world, first, second)
    world.config.group_max_size = 1
    world.reload()
    assert world.group().state is GroupState.PREPARING_REBALANCE
    assert first.join() is None
    assert second.join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert first.generation == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_groups_that_kafka_wrote(version: str, tmp_path: Path) -> None:
    """What the golden data's events say was done, seen through our coordinator."""
    made = unpack(version, tmp_path / "golden")
    data = tmp_path / "data"
    data.mkdir()
    for partition in made.iterdir():
        shutil.copytree(partition, data / partition.name)
        (data / partition.name / "partition.metadata").unlink()  # our topic has another id
    world = World(data, partitions=4)
    classic, static = world.group("g-classic"), world.group("g-static")
    assert (classic.state, classic.protocol_type) == (GroupState.EMPTY, "consumer")
    assert static.state is GroupState.STABLE
    assert list(static.members.static) == ["static-1"]
    assert static.protocol_name == "cooperative-sticky"
    simple = world.group("g-simple").offsets
    newer, other = simple.get("plain", 0), simple.get("plain", 1)
    assert newer is not None and (newer.offset, newer.metadata) == (12, "newer")
    assert other is not None and (other.offset, other.leader_epoch) == (3, 0)
    assert world.groups.describe("g-deleted") is None
    transactional = world.group("g-txn").offsets
    assert [c.metadata for _, _, c in transactional] == ["txn meta"], "the aborted one is not there"
    assert not transactional.transactional
    world.close()


def test_others_are_served_while_many_groups_are_loaded(world: World) -> None:
    partition = world.replicas.require(OFFSETS_TOPIC, 0)
    for group in range(400):
        keys = [encode_offset_key(f"group-{group}", "orders", p) for p in range(20)]
        value = encode_offset(CommittedOffset(group, 0, "", 1))
        records = [Record(n, 0, key, value) for n, key in enumerate(keys)]
        partition.append(build_batch(records), 1, 0, origin=AppendOrigin.COORDINATOR)
    turns = 0

    async def run() -> None:
        nonlocal turns
        world.groups.leadership.resigned(0)
        world.lead(0, 2)
        while world.groups.shards.is_loading:
            await asyncio.sleep(0)
            turns += 1

    started = time.monotonic()
    world.loop.run_until_complete(run())
    took_ms = (time.monotonic() - started) * 1000
    assert world.committed(partition=19, group="group-399") == 399
    assert turns >= 3, f"{turns} turns in {took_ms} ms of slices of {SLICE_MS} ms"


@pytest.mark.broker_says("groups cannot be loaded.*partition=0")
@pytest.mark.parametrize("failure", [OSError("a bad sector"), ValueError("a bug")])
def test_a_partition_that_cannot_be_read_is_not_taken_for_empty(
    world: World, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    world.commit(7)
    decode, failures = loading.decode_batch, [failure, failure]

    def maybe(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return decode(*arguments)

    monkeypatch.setattr(loading, "decode_batch", maybe)
    world.reload()
    for left in (1, 0):
        assert len(failures) == left
        assert Client(world).join() is ErrorCode.NOT_COORDINATOR
        assert world.commit(1) is ErrorCode.NOT_COORDINATOR
        assert not world.groups.shards.is_loading
        world.clock.advance(RELOAD_PAUSE_MS)
        world.loop.run_until_complete(asyncio.sleep(0))
        world.loop.run_until_complete(world.loaded())
    assert world.committed() == 7
    assert world.commit(8) is ErrorCode.NONE


@pytest.mark.broker_says("groups cannot be loaded")
def test_a_partition_that_cannot_be_read_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, partitions=2)
    replay = loading.replay

    async def maybe(shard: Shard, buffer_bytes: int) -> None:
        if shard.index == 0:
            raise ValueError("a bug")
        await replay(shard, buffer_bytes)

    monkeypatch.setattr(leadership, "replay", maybe)
    for index in range(2):
        partition = world.replicas.require(OFFSETS_TOPIC, index)
        partition.append(
            build_batch([Record(0, 0, b"", b"")]), 1, 0, origin=AppendOrigin.COORDINATOR
        )
        world.reload(index)
    shards = {shard.index: shard for shard in world.groups.shards}
    assert shards[0].state is ShardState.FAILED and shards[1].is_active
    world.close()
