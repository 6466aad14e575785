"""The life of a consumer group, lived by every client family.

Issue 6, item 2. Members are separate programs; the records they wait for are written by
librdkafka, and what they committed is asked of the broker by librdkafka too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from broker_admin import BrokerAdmin, unique_name
from client_builds import Family, skip_where_lacking
from clients import ClientPool, Member, Place, wait_until
from families import FAMILIES, LIBRDKAFKA

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
SHORT_SESSION_MS = 1_500
LONG_SESSION_MS = 60_000  # longer than a test is ready to wait

group_families = {name: family for name, family in FAMILIES.items() if "group" not in family.lacks}
families = pytest.mark.parametrize("family", group_families.values(), ids=group_families)
Write = Callable[[str, int, int], None]


@pytest.fixture
def write(clients: ClientPool) -> Write:
    """Write so many records to a partition."""

    def write_records(topic: str, partition: int, count: int) -> None:
        clients.run(LIBRDKAFKA, "produce", topic=topic, partition=partition, count=count)

    return write_records


def all_of(topic: str, count: int) -> set[Place]:
    return {(topic, partition) for partition in range(count)}


def wait_for_assignment(member: Member, expected: set[Place]) -> None:
    member.wait_until(lambda: member.assignment == expected, f"assigned {sorted(expected)}")


def wait_for_shares(members: list[Member], everything: set[Place]) -> None:
    """Wait until the members hold everything between them, each partition once, in equal shares."""
    share = len(everything) // len(members)

    def shared() -> bool:
        held = [member.assignment for member in members]
        return set().union(*held) == everything and all(len(part) == share for part in held)

    def ended() -> bool:
        return any(member.has_ended for member in members)

    try:
        wait_until(lambda: shared() or ended(), "equal shares")
        assert shared(), "a member has ended"
    except AssertionError as failure:
        told = "\n".join(member.last_words() for member in members)
        raise AssertionError(f"{failure}\n{told}") from None


def read_offsets(member: Member, topic: str, partition: int = 0) -> list[int]:
    return [
        event["offset"]
        for event in member.of_kind("record")
        if (event["topic"], event["partition"]) == (topic, partition)
    ]


def wait_for_records(member: Member, count: int) -> None:
    member.wait_until(lambda: len(member.of_kind("record")) >= count, f"{count} records")


@families
@pytest.mark.parametrize("commit", ["sync", "async", "auto"])
def test_the_next_member_begins_where_the_last_one_committed(
    family: Family, commit: str, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    skip_where_lacking(family, f"commit {commit}")
    topic, group = broker_admin.create_topic("commit", 2), unique_name("commit")
    write(topic, 0, 7)
    write(topic, 1, 5)
    with clients.member(family, group=group, topic=topic, commit=commit) as first:
        wait_for_records(first, 12)
        expected = {(topic, 0): 7, (topic, 1): 5}
        if commit != "auto":
            first.wait_until(lambda: first.committed == expected, f"committed {expected}")
    assert broker_admin.committed(group) == expected
    write(topic, 0, 3)
    with clients.member(family, group=group, topic=topic, commit="none") as second:
        wait_for_records(second, 3)
        assert read_offsets(second, topic, 0) == [7, 8, 9]
        assert read_offsets(second, topic, 1) == []


@families
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_partitions_move_when_a_member_comes_and_leaves(
    family: Family, assignor: str, clients: ClientPool, broker_admin: BrokerAdmin
) -> None:
    skip_where_lacking(family, assignor)
    topic, group = broker_admin.create_topic("move", 4), unique_name("move")
    with clients.member(family, group=group, topic=topic, assignor=assignor) as first:
        wait_for_assignment(first, all_of(topic, 4))
        with clients.member(family, group=group, topic=topic, assignor=assignor) as second:
            wait_for_shares([first, second], all_of(topic, 4))
            taken: set[Place] = set().union(*first.revocations)
            eager = assignor != "cooperative-sticky"
            assert taken == (all_of(topic, 4) if eager else second.assignment)
        wait_for_assignment(first, all_of(topic, 4))


@families
def test_a_killed_members_partitions_pass_to_the_other_after_its_session(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    topic, group = broker_admin.create_topic("kill", 2), unique_name("kill")
    options = {"group": group, "topic": topic, "session_ms": SHORT_SESSION_MS}
    with clients.member(family, **options) as first, clients.member(family, **options) as second:
        wait_for_shares([first, second], all_of(topic, 2))
        second.program.kill()
        wait_for_assignment(first, all_of(topic, 2))
        write(topic, 0, 2)
        write(topic, 1, 2)
        wait_for_records(first, 4)


@families
def test_a_terminated_member_leaves_at_once(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin
) -> None:
    topic, group = broker_admin.create_topic("term", 2), unique_name("term")
    options = {"group": group, "topic": topic, "session_ms": LONG_SESSION_MS}
    with clients.member(family, **options) as first, clients.member(family, **options) as second:
        wait_for_shares([first, second], all_of(topic, 2))
        second.program.close()
        wait_for_assignment(first, all_of(topic, 2))


@families
def test_new_partitions_are_assigned_and_read(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    skip_where_lacking(family, "new partitions")
    topic, group = broker_admin.create_topic("grow", 1), unique_name("grow")
    with clients.member(family, group=group, topic=topic) as member:
        wait_for_assignment(member, all_of(topic, 1))
        broker_admin.add_partitions(topic, 3)
        wait_for_assignment(member, all_of(topic, 3))
        write(topic, 2, 4)
        wait_for_records(member, 4)
        assert read_offsets(member, topic, 2) == [0, 1, 2, 3]


@families
def test_a_topic_created_later_joins_a_regular_expression(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    skip_where_lacking(family, "regex")
    group = unique_name("regex")
    early, late = f"{group}.early", f"{group}.late"
    broker_admin.create_topic_named(early)
    with clients.member(family, group=group, topic=f"^{group}\\..*") as member:
        wait_for_assignment(member, all_of(early, 1))
        broker_admin.create_topic_named(late)
        wait_for_assignment(member, all_of(early, 1) | all_of(late, 1))
        write(late, 0, 2)
        wait_for_records(member, 2)


@families
def test_a_static_member_restarts_without_a_rebalance(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    skip_where_lacking(family, "static")
    topic, group = broker_admin.create_topic("static", 2), unique_name("static")
    options = {"group": group, "topic": topic, "session_ms": LONG_SESSION_MS}
    with clients.member(family, instance_id="one", **options) as other:
        with clients.member(family, instance_id="two", **options) as before:
            wait_for_shares([other, before], all_of(topic, 2))
            held = before.assignment
        kept, rebalances = other.assignment, _rebalance_count(other)
        with clients.member(family, instance_id="two", **options) as after:
            wait_for_assignment(after, held)
            for _, partition in held | kept:
                write(topic, partition, 2)
            wait_for_records(after, 2)
            wait_for_records(other, 2)
            assert (other.assignment, _rebalance_count(other)) == (kept, rebalances)


def _rebalance_count(member: Member) -> int:
    return len(member.of_kind("assigned")) + len(member.of_kind("revoked"))


@families
def test_a_member_seeks_back_and_reads_again(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    skip_where_lacking(family, "seek")
    topic, group = broker_admin.create_topic("seek"), unique_name("seek")
    write(topic, 0, 6)
    with clients.member(family, group=group, topic=topic) as member:
        wait_for_records(member, 6)
        member.apply(f"seek {topic} 0 3")
        wait_for_records(member, 9)
        assert read_offsets(member, topic) == [0, 1, 2, 3, 4, 5, 3, 4, 5]


@families
def test_a_paused_partition_rests_while_another_is_read(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    skip_where_lacking(family, "pause")
    topic, group = broker_admin.create_topic("pause", 2), unique_name("pause")
    write(topic, 0, 1)
    with clients.member(family, group=group, topic=topic) as member:
        wait_for_records(member, 1)
        member.apply(f"pause {topic} 0")
        write(topic, 0, 3)
        write(topic, 1, 3)
        wait_for_records(member, 4)
        assert read_offsets(member, topic, 0) == [0]
        member.apply(f"resume {topic} 0")
        wait_for_records(member, 7)
        assert read_offsets(member, topic, 0) == [0, 1, 2, 3]


@families
def test_a_commit_on_demand_is_kept(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    topic, group = broker_admin.create_topic("demand"), unique_name("demand")
    write(topic, 0, 5)
    with clients.member(family, group=group, topic=topic) as member:
        wait_for_records(member, 5)
        member.apply("commit")
        assert member.committed == {(topic, 0): 5}
        assert broker_admin.committed(group) == {(topic, 0): 5}


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_members_of_all_families_share_one_group(
    assignor: str, clients: ClientPool, broker_admin: BrokerAdmin, write: Write
) -> None:
    needed = {assignor, "mixed group"}
    crew = [family for family in group_families.values() if needed.isdisjoint(family.lacks)]
    topic, group = broker_admin.create_topic("mixed", len(crew)), unique_name("mixed")
    options = {"group": group, "topic": topic, "assignor": assignor, "commit": "sync"}
    with ExitStack() as stack:
        members = [stack.enter_context(clients.member(family, **options)) for family in crew]
        wait_for_shares(members, all_of(topic, len(crew)))
        for partition in range(len(crew)):
            write(topic, partition, 3)
        for member in members:
            wait_for_records(member, 3)
        expected = dict.fromkeys(all_of(topic, len(crew)), 3)
        wait_until(lambda: _committed_by(members) == expected, "commits by all")
    assert broker_admin.committed(group) == expected


def _committed_by(members: list[Member]) -> dict[Place, int]:
    return {place: offset for member in members for place, offset in member.committed.items()}
