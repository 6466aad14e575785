"""Committing offsets: who may, what is kept, what a transaction does."""

from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.groups.commits import Committer, TransactionOf
from barnabas.server.groups.group import GroupState
from barnabas.server.groups.offsets import Commits, CommittedOffset
from barnabas.server.groups.records import decode_key, decode_offset
from barnabas.storage.batch.header import NO_PRODUCER_ID
from barnabas.wire.error_codes import ErrorCode
from tests.server.coordinators.world import CONFIG

from .world import Client, World, stable

PRODUCER = 77


def test_simple_consumers_keep_offsets_without_a_group(world: World) -> None:
    assert world.commit(5) is ErrorCode.NONE
    assert world.committed() == 5
    assert world.group().state is GroupState.EMPTY
    assert world.commit(4) is ErrorCode.NONE
    assert world.committed() == 4, "the last commit counts, not the highest"
    assert world.commit(6, group="") is ErrorCode.NONE, "even under an empty name"


def test_a_commit_is_one_batch_as_kafka_writes_it(world: World) -> None:
    commits: Commits = {
        ("orders", index): CommittedOffset(index, 3, "m", world.clock.now_ms()) for index in (0, 2)
    }
    world.groups.commit("g", Committer(), commits, lambda _: None)
    headers = [header for header, _ in world.records()]
    assert {header.base_offset for header in headers} == {0}
    assert (headers[0].producer_id, headers[0].base_sequence) == (NO_PRODUCER_ID, 0)
    assert headers[0].partition_leader_epoch == 1
    (_, first), (_, second) = world.records()
    assert [decode_key(record.key) for record in (first, second)] == [
        ("g", "orders", 0),
        ("g", "orders", 2),
    ]
    assert second.value is not None
    assert decode_offset(second.value, 0) == CommittedOffset(
        2, 3, "m", world.clock.now_ms(), log_offset=0
    )


def test_a_group_that_is_not_there_has_no_generation(world: World) -> None:
    assert world.commit(1, Committer(1, "m")) is ErrorCode.ILLEGAL_GENERATION
    assert world.groups.describe("g") is None


def test_nor_has_it_one_for_a_transaction(world: World) -> None:
    with pytest.raises(ApiError) as refused:
        _transactional(world, 1, Committer(1, "m"))
    assert refused.value.code is ErrorCode.ILLEGAL_GENERATION
    assert world.groups.describe("g") is None, "a refused commit leaves no group behind"


def test_with_members_only_members_commit(world: World) -> None:
    client = Client(world)
    stable(world, client)
    assert world.commit(1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(1, Committer(client.generation, "x")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(1, Committer(9, client.member_id)) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit(1, Committer(-1, client.member_id)) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit(1, client.committer) is ErrorCode.NONE
    client.leave()
    assert world.commit(1, client.committer) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(2) is ErrorCode.NONE


def test_commits_during_a_rebalance(world: World) -> None:
    client = Client(world)
    stable(world, client)
    Client(world).join()
    assert world.commit(1, client.committer) is ErrorCode.NONE, "before it joins again"
    client.join()
    assert world.group().state is GroupState.COMPLETING_REBALANCE
    assert world.commit(1, client.committer) is ErrorCode.REBALANCE_IN_PROGRESS


def _transactional(world: World, offset: int, committer: Committer | None = None) -> None:
    answers: list[ErrorCode] = []
    world.groups.commit_in_transaction(
        "g",
        committer or Committer(),
        TransactionOf(PRODUCER, 0),
        {("orders", 0): CommittedOffset(offset)},
        answers.append,
    )
    assert answers == [ErrorCode.NONE]


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 7), (False, 3)])
def test_a_transactions_offsets_count_when_it_commits(
    world: World, is_commit: bool, offset: int
) -> None:
    world.commit(3)
    _transactional(world, 7)
    assert world.committed() == 3
    assert world.group().offsets.is_unstable("orders", 0)
    assert not world.group().offsets.is_unstable("orders", 1)
    header, _ = world.records()[-1]
    assert header.is_transactional
    assert (header.producer_id, header.base_sequence) == (PRODUCER, 0)
    world.groups.end_transaction(PRODUCER, [0], is_commit)
    assert world.committed() == offset
    assert not world.group().offsets.is_unstable("orders", 0)


def test_a_late_transaction_does_not_undo_a_newer_commit(world: World) -> None:
    _transactional(world, 7)
    world.commit(9)
    world.groups.end_transaction(PRODUCER, [0], True)
    assert world.committed() == 9


def test_only_the_partitions_of_the_marker_end(world: World) -> None:
    _transactional(world, 7)
    world.groups.end_transaction(PRODUCER, [3], True)
    assert world.group().offsets.is_unstable("orders", 0)


def test_transactions_are_fenced_by_the_group(world: World) -> None:
    client = Client(world)
    stable(world, client)
    _transactional(world, 1, client.committer)
    _transactional(world, 2, Committer())  # old clients do not say who they are
    with pytest.raises(ApiError, match="ILLEGAL_GENERATION"):
        _transactional(world, 3, Committer(9, client.member_id))


# With another replica.


def test_a_commit_counts_when_it_is_replicated(world: World) -> None:
    partition = world.replicas.require("__consumer_offsets", 0)
    partition.isr = partition.replicas = (0, 1)
    answers: list[ErrorCode] = []
    key = ("orders", 0)
    world.groups.commit("g", Committer(), {key: CommittedOffset(5)}, answers.append)
    assert (answers, world.committed()) == ([], -1)
    assert world.group().offsets.is_unstable(*key)
    assert not world.group().offsets.is_empty
    partition.log.maybe_increment_high_watermark(partition.log.log_end_offset)
    world.produces.complete(partition.key)
    assert (answers, world.committed()) == ([ErrorCode.NONE], 5)
    assert not world.group().offsets.is_unstable(*key)


def test_replication_that_takes_too_long(world: World) -> None:
    partition = world.replicas.require("__consumer_offsets", 0)
    partition.isr = partition.replicas = (0, 1)
    client = Client(world)
    client.join()
    world.clock.advance(0)
    assert client.sync({client.member_id: b"A"}) is None
    answers: list[ErrorCode] = []
    world.groups.commit("h", Committer(), {("orders", 0): CommittedOffset(5)}, answers.append)
    world.clock.advance(5_000)
    assert answers == [ErrorCode.REQUEST_TIMED_OUT]
    assert client.answers[-1] == "sync REBALANCE_IN_PROGRESS"
    assert world.committed(group="h") == -1
    assert not world.group("h").offsets.is_unstable("orders", 0)


def test_a_leader_that_moves_meanwhile_is_no_coordinator(world: World) -> None:
    partition = world.replicas.require("__consumer_offsets", 0)
    partition.isr = partition.replicas = (0, 1)
    client, waiting = Client(world), Client(world)
    client.join()
    waiting.join()
    world.clock.advance(0)
    client.sync({})
    waiting.sync()
    answers: list[ErrorCode] = []
    world.groups.commit("h", Committer(), {("orders", 0): CommittedOffset(5)}, answers.append)
    partition.become_follower(1, partition.leader_epoch + 1, (0, 1), (1,))
    world.groups.leadership.resigned(0)
    world.produces.complete(partition.key)
    assert answers == [ErrorCode.NOT_COORDINATOR]
    assert (client.answers[-1], waiting.answers[-1]) == ("sync NOT_COORDINATOR",) * 2
    assert client.heartbeat() is ErrorCode.NOT_COORDINATOR
    assert world.commit(1) is ErrorCode.NOT_COORDINATOR
    assert world.clock.timer_count() == 1


@pytest.mark.parametrize("codec", range(5))
def test_the_topics_codec(tmp_path: Path, codec: int) -> None:
    world = World(tmp_path, {"offsets.topic.compression.codec": codec})
    assert world.commit(5) is ErrorCode.NONE
    assert world.records()[0][0].codec == codec
    world.reload()
    assert world.committed() == 5
    world.close()


def test_acks_1_waits_for_nobody(tmp_path: Path) -> None:
    world = World(tmp_path, {"offsets.commit.required.acks": 1})
    partition = world.replicas.require("__consumer_offsets", 0)
    partition.isr = partition.replicas = (0, 1)
    assert world.commit(5) is ErrorCode.NONE
    world.close()


def test_flushed_before_it_is_acknowledged(tmp_path: Path) -> None:
    """`flush.messages` holds for the coordinator's own writes, too."""
    world = World(tmp_path)
    partition = world.replicas.require("__consumer_offsets", 0)
    partition.log.update_config(replace(CONFIG, flush_messages=1))
    assert world.commit(5) is ErrorCode.NONE
    assert partition.log.recovery_point == partition.log.log_end_offset
    world.close()


# A topic that is deleted while commits of it are on their way.


def test_a_commit_on_its_way_goes_with_its_topic(world: World) -> None:
    """Else it would be taken for a commit of the next topic of the name."""
    partition = world.replicas.require("__consumer_offsets", 0)
    partition.isr = partition.replicas = (0, 1)
    answers: list[ErrorCode] = []
    both: Commits = {("orders", 0): CommittedOffset(5), ("audit", 0): CommittedOffset(6)}
    world.groups.commit("g", Committer(), both, answers.append)
    world.groups.topics_deleted(["orders"])
    partition.log.maybe_increment_high_watermark(partition.log.log_end_offset)
    world.produces.complete(partition.key)
    assert answers == [ErrorCode.NONE]
    assert (world.committed(), world.committed("audit")) == (-1, 6)
    assert not world.group().offsets.is_unstable("orders", 0)
    world.reload()
    assert (world.committed(), world.committed("audit")) == (-1, 6)


@pytest.mark.parametrize("is_reloaded", [False, True])
def test_a_transactions_commit_goes_with_its_topic(world: World, is_reloaded: bool) -> None:
    world.commit(6, topic="audit")
    _transactional(world, 7)
    world.groups.topics_deleted(["orders"])
    if is_reloaded:
        world.reload()
    world.groups.end_transaction(PRODUCER, [0], True)
    assert (world.committed(), world.committed("audit")) == (-1, 6)


def test_a_commit_after_the_deletion_is_one_of_the_next_topic(world: World) -> None:
    world.commit(5)
    world.groups.topics_deleted(["orders"])
    assert world.commit(1) is ErrorCode.NONE
    world.reload()
    assert world.committed() == 1
