"""Offsets expire, groups are deleted, topics go (KIP-211, KIP-229, KIP-496)."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.groups import removal
from barnabas.server.groups.commits import Committer, TransactionOf
from barnabas.server.groups.group import Group, GroupState
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.groups.records import decode_key
from barnabas.server.groups.removal import Removal, expired_offsets
from barnabas.wire.error_codes import ErrorCode

from .world import Client, World, stable

DAY_MS = 86_400_000


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(removal, "SLICE_MS", math.inf)  # a busy machine puts no group off
    made = World(tmp_path, {"offsets.retention.minutes": 24 * 60})
    yield made
    made.close()


def _tombstones(world: World) -> list[object]:
    return [decode_key(record.key) for _, record in world.records() if record.value is None]


def test_a_simple_groups_offsets_expire_one_by_one(world: World) -> None:
    world.commit(1)
    world.clock.advance("12 h")
    world.commit(2, partition=1)
    world.clock.advance("12 h 10 min")
    assert (world.committed(), world.committed(partition=1)) == (-1, 2)
    assert _tombstones(world) == [("g", "orders", 0)]
    world.clock.advance("12 h")
    assert world.groups.describe("g") is None
    assert _tombstones(world) == [("g", "orders", 0), ("g", "orders", 1)], "no group record"


def test_an_empty_groups_offsets_expire_when_it_has_been_empty_long_enough(world: World) -> None:
    client = Client(world, session_ms=1_800_000)
    stable(world, client)
    world.commit(1, client.committer)
    for _ in range(100):
        world.clock.advance("29 min")
        assert client.heartbeat() is ErrorCode.NONE
    assert world.committed() == 1, "as long as somebody subscribes to the topic"
    client.leave()
    world.clock.advance("23 h 50 min")
    assert world.committed() == 1
    world.clock.advance("20 min")
    assert world.groups.describe("g") is None
    assert _tombstones(world) == [("g", "orders", 0), ("g",)]


def test_with_consumers_only_topics_nobody_reads_expire(world: World) -> None:
    client = Client(world)
    stable(world, client)
    group = world.group()
    for topic in ("orders", "audit"):
        world.commit(1, client.committer, topic=topic)
    now_ms = world.clock.now_ms()
    assert expired_offsets(group, now_ms + DAY_MS - 1, DAY_MS) == []
    assert expired_offsets(group, now_ms + DAY_MS, DAY_MS) == [("audit", 0)]
    client.protocols = (("range", b"not a subscription"),)
    client.join()
    client.sync({})
    assert expired_offsets(group, now_ms + DAY_MS, DAY_MS) == [], "what they read is not known"


def test_members_that_are_no_consumers_keep_their_offsets(world: World) -> None:
    client = Client(world, protocol_type="connect")
    stable(world, client)
    world.commit(1, client.committer)
    assert expired_offsets(world.group(), world.clock.now_ms() + 9 * DAY_MS, DAY_MS) == []


def test_an_offset_may_bring_its_own_retention(world: World) -> None:
    now_ms = world.clock.now_ms()
    committed = CommittedOffset(1, commit_timestamp_ms=now_ms, expire_timestamp_ms=now_ms + 5)
    world.groups.commit("g", Committer(), {("orders", 0): committed}, lambda _: None)
    assert expired_offsets(world.group(), now_ms + 4, DAY_MS) == []
    assert expired_offsets(world.group(), now_ms + 5, DAY_MS) == [("orders", 0)]


def test_a_group_loaded_from_an_old_record_expires_by_its_commits(world: World) -> None:
    client = Client(world)
    stable(world, client)
    world.commit(1, client.committer)
    client.leave()
    group = world.group()
    group.state_timestamp_ms = None
    now_ms = world.clock.now_ms()
    assert expired_offsets(group, now_ms + DAY_MS - 1, DAY_MS) == []
    assert expired_offsets(group, now_ms + DAY_MS, DAY_MS) == [("orders", 0)]


def test_an_offset_of_an_open_transaction_does_not_hold_others(world: World) -> None:
    world.commit(1)
    world.groups.commit_in_transaction(
        "g", Committer(), TransactionOf(7, 0), {("audit", 0): CommittedOffset(2)}, lambda _: None
    )
    world.clock.advance("2 days")
    assert world.committed() == -1
    assert world.group().offsets.is_unstable("audit", 0), "and keeps the group"


def _commit_in_transaction(world: World, *partitions: int) -> None:
    commits = {("orders", partition): CommittedOffset(9) for partition in partitions}
    world.groups.commit_in_transaction(
        "g", Committer(), TransactionOf(7, 0), commits, lambda _: None
    )


def test_an_offset_does_not_expire_while_an_open_transaction_replaces_it(world: World) -> None:
    world.commit(1)
    _commit_in_transaction(world, 0)
    world.clock.advance("2 days")
    assert _tombstones(world) == [], "it would take what the transaction commits along"
    world.groups.end_transaction(7, [world.group().shard.index], True)
    assert world.committed() == 9


def test_a_deleted_group_takes_the_offsets_of_open_transactions_along(world: World) -> None:
    world.commit(1)
    _commit_in_transaction(world, 0, 1)
    world.groups.delete_group("g")
    assert _tombstones(world) == [("g", "orders", 0), ("g", "orders", 1)], "a start knows it too"
    world.groups.end_transaction(7, [0], True)
    assert world.groups.describe("g") is None


def test_deleting_a_group(world: World) -> None:
    client = Client(world)
    stable(world, client)
    world.commit(1, client.committer)
    with pytest.raises(ApiError, match="NON_EMPTY_GROUP"):
        world.groups.delete_group("g")
    client.leave()
    world.groups.delete_group("g")
    assert _tombstones(world) == [("g", "orders", 0), ("g",)]
    with pytest.raises(ApiError, match="GROUP_ID_NOT_FOUND"):
        world.groups.delete_group("g")
    assert world.committed() == -1
    assert world.commit(2) is ErrorCode.NONE


def test_deleting_a_group_that_never_had_members_leaves_no_group_record(world: World) -> None:
    world.commit(1)
    world.groups.delete_group("g")
    assert _tombstones(world) == [("g", "orders", 0)]


def test_deleting_offsets(world: World) -> None:
    with pytest.raises(ApiError, match="GROUP_ID_NOT_FOUND"):
        world.groups.delete_offsets("g", [("orders", 0)])
    client = Client(world)
    stable(world, client)
    for topic in ("orders", "audit"):
        world.commit(1, client.committer, topic=topic)
    assert world.groups.delete_offsets("g", [("orders", 0), ("audit", 0), ("audit", 1)]) == {
        ("orders", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("audit", 0): ErrorCode.NONE,
        ("audit", 1): ErrorCode.NONE,
    }
    assert (world.committed("orders"), world.committed("audit")) == (1, -1)
    assert _tombstones(world) == [("g", "audit", 0)]
    client.leave()
    assert world.groups.delete_offsets("g", [("orders", 0)]) == {("orders", 0): ErrorCode.NONE}
    assert world.groups.describe("g") is None, "nothing is left of it"


def test_offsets_of_members_that_are_no_consumers_cannot_be_deleted(world: World) -> None:
    client = Client(world, protocol_type="connect")
    stable(world, client)
    with pytest.raises(ApiError, match="NON_EMPTY_GROUP"):
        world.groups.delete_offsets("g", [("orders", 0)])


def test_a_deleted_topic_takes_its_offsets_along(world: World) -> None:
    client = Client(world)
    stable(world, client)
    world.commit(1, client.committer)
    world.commit(1, group="simple")
    world.commit(1, group="both")
    world.commit(1, group="both", topic="audit")
    world.groups.topics_deleted(["orders"])
    assert world.committed() == -1
    assert world.group().state is GroupState.STABLE
    assert world.groups.describe("simple") is None
    assert world.committed("audit", group="both") == 1


def test_release_4_buries_a_group_that_was_only_offsets(tmp_path: Path) -> None:
    world = World(tmp_path, {"barnabas.pose.as": "4.4"})
    world.commit(1)
    world.groups.delete_group("g")
    assert _tombstones(world) == [("g", "orders", 0), ("g",)]
    committed = world.records()[0][1].value
    assert committed is not None and committed[:2] == b"\x00\x04"
    world.close()


@pytest.mark.broker_says("a group cannot expire.*group=bad")
def test_a_group_that_cannot_expire_keeps_no_other_and_no_later_check_from_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    expire = Removal.expire

    def maybe(removal: Removal, group: Group) -> None:
        if group.group_id == "bad":
            raise ValueError("a bug")
        expire(removal, group)

    monkeypatch.setattr(Removal, "expire", maybe)
    world.commit(1, group="bad")
    world.commit(1, group="good")
    world.clock.advance("24 h 10 min")
    assert world.groups.describe("good") is None and world.group("bad")
    world.commit(1, group="later")
    world.clock.advance("24 h 10 min")
    assert world.groups.describe("later") is None


def test_3_9_forgets_a_group_with_its_last_offset(world: World) -> None:
    world.commit(1)
    world.groups.topics_deleted(["orders"])
    assert world.groups.describe("g") is None


@pytest.mark.parametrize("by", ["offsets", "topic"])
def test_4_4_lists_a_group_without_offsets_until_it_is_deleted_or_expires(
    tmp_path: Path, by: str
) -> None:
    world = World(tmp_path, {"barnabas.pose.as": "4.4"})
    for name in ("deleted", "expired"):
        world.commit(1, group=name)
        if by == "topic":
            world.groups.topics_deleted(["orders"])
        else:
            world.groups.delete_offsets(name, [("orders", 0)])
    for _ in range(2):
        assert world.group("deleted").state is world.group("expired").state is GroupState.EMPTY
        world.reload()
    world.groups.delete_group("deleted")
    assert world.groups.describe("deleted") is None
    world.clock.advance("10 min")
    assert world.groups.describe("expired") is None
    world.reload()
    assert not list(world.groups.all_groups())
    world.close()
