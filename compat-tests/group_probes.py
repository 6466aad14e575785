"""Questions about groups to a broker, each with what it saw: for `groups/test_same_answers.py`.

Every probe asks one thing of groups that nobody has used, and returns what it was told, with
member ids left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from group_asker import Asker, Seen, commit, fetched, joined

from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.join_group import JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

PROBES: dict[str, Callable[[Asker], Any]] = {}


def probe(function: Callable[[Asker], Any]) -> Callable[[Asker], Any]:
    PROBES[function.__name__] = function
    return function


@probe
def joins_in_every_version(asker: Asker) -> Any:
    seen = []
    for version in range(10):
        member = asker.member()
        member.group = f"{asker.group}-{version}"
        first = member.call(member.join_request(), version)
        seen.append(joined(first))
        member.take(first)
        if first.error_code:
            seen.append(joined(member.join(version), first.member_id))
    return seen


@probe
def joins_that_are_refused(asker: Asker) -> Any:
    def refused(version: int = 5, member_id: str = "", **options: Any) -> Seen:
        member = asker.member(**options)
        member.member_id = member_id
        return joined(member.call(member.join_request(), version), member_id)

    seen = [
        refused(session_timeout_ms=5_999),
        refused(session_timeout_ms=1_800_001),
        refused(protocols=[]),
        refused(protocol_type=""),
        refused(member_id="made-up"),
        refused(version=9, member_id="made-up"),
        refused(version=0, member_id="made-up"),
    ]
    unnamed = asker.member()
    unnamed.group = ""
    seen.append(joined(unnamed.call(unnamed.join_request(), 9)))
    asker.member().settle()
    other = [JoinGroupRequestProtocol(name="other", metadata=b"")]
    seen += [
        refused(protocols=other),
        refused(version=9, protocols=other),
        refused(protocol_type="connect"),
        refused(member_id="made-up"),
    ]
    return seen


@probe
def a_group_that_is_full(asker: Asker) -> Any:
    first, second, third = asker.member(), asker.member(), asker.member()
    first.settle()
    second.ask_in(first)
    told = first.join()
    second.take(second.receive())
    refused = [joined(third.join(version)) for version in (3, 9)]
    return joined(told), refused, first.heartbeat()


@probe
def joining_again(asker: Asker) -> Any:
    member = asker.member()
    seen = [joined(member.join())]
    seen.append(joined(member.join(), member.member_id))
    member.sync_mine()
    seen.append(joined(member.join(), member.member_id))
    return seen


@probe
def static_members(asker: Asker) -> Any:
    seen: list[Any] = []
    old = asker.member("i").settle()
    for version in (5, 8, 9):
        new = asker.member("i")
        response = new.join(version)
        seen.append((joined(response), new.sync_mine(assigns=False).assignment))
        seen.append([old.heartbeat(), joined(old.join()), old.sync_mine().error_code, old.commit()])
        old = new
    unknown = asker.member("nobody")
    unknown.member_id, unknown.generation = old.member_id, old.generation
    seen.append([unknown.heartbeat(), unknown.sync_mine().error_code, unknown.commit()])
    changed = [
        JoinGroupRequestProtocol(name="other", metadata=b""),
        JoinGroupRequestProtocol(name="range", metadata=b""),
    ]
    seen.append(joined(asker.member("i").join(protocols=changed)))
    return seen


@probe
def syncs(asker: Asker) -> Any:
    member = asker.member()
    seen: list[Any] = [member.sync_mine(generation_id=1, member_id="x").error_code]
    member.join()
    for changes in (
        {"generation_id": 9}, {"member_id": "x"}, {"protocol_name": "other"},
        {"protocol_type": "connect"}, {"protocol_name": None}, {"group_id": ""},
    ):  # fmt: skip
        group = changes.pop("group_id", member.group)
        kept, member.group = member.group, str(group)
        answer = member.sync_mine(**changes)
        member.group = kept
        seen.append((answer.error_code, answer.protocol_type, answer.assignment))
    for version in range(6):
        answer = member.sync_mine(version)
        seen.append((answer.error_code, answer.protocol_type, answer.protocol_name))
    return seen


@probe
def heartbeats(asker: Asker) -> Any:
    member = asker.member()
    seen = [member.heartbeat(generation_id=1, member_id="x")]
    member.settle()
    seen += [member.heartbeat(version) for version in range(5)]
    seen += [
        member.heartbeat(generation_id=9),
        member.heartbeat(member_id="x"),
        member.heartbeat(member_id=""),
        member.heartbeat(group_instance_id="x"),
    ]
    member.group = ""
    seen.append(member.heartbeat())
    return seen


@probe
def leaves(asker: Asker) -> Any:
    member = asker.member("i").settle()
    identities = [
        MemberIdentity(member_id="x"),
        MemberIdentity(member_id=""),
        MemberIdentity(member_id="x", group_instance_id="i"),
        MemberIdentity(member_id="", group_instance_id="x"),
        MemberIdentity(member_id="", group_instance_id="i"),
        MemberIdentity(member_id=member.member_id, group_instance_id="i"),
    ]
    seen = []
    for group in (member.group, f"{member.group}-none", ""):
        request = LeaveGroupRequest(group_id=group, members=identities)
        answer = member.call(request, 5)
        seen.append(
            (answer.error_code, [(m.group_instance_id, m.error_code) for m in answer.members])
        )
    for version in range(3):
        request = LeaveGroupRequest(group_id=member.group, member_id="x")
        seen.append(member.call(request, version).error_code)
    return seen


@probe
def commits(asker: Asker) -> Any:
    connection = asker.connect()
    seen: list[Any] = [
        commit(connection, f"{asker.group}-{v}", v)
        for v in range(2 if asker.release > 3 else 1, 10)
    ]
    seen += [
        commit(connection, asker.group, text=None),
        commit(connection, asker.group, text="x" * 4097),
        commit(connection, asker.group, topic="nowhere"),
        commit(connection, asker.group, generation_id_or_member_epoch=1, member_id="x"),
        commit(connection, f"{asker.group}-new", generation_id_or_member_epoch=1, member_id="x"),
        commit(connection, asker.group, group_instance_id="x"),
        commit(connection, ""),
    ]
    member = asker.member()
    member.group = f"{asker.group}-members"
    member.join()
    seen.append(member.commit())
    member.sync_mine()
    seen += [
        member.commit(),
        member.commit(generation_id_or_member_epoch=9),
        member.commit(member_id="x"),
        member.commit(generation_id_or_member_epoch=-1),
        member.commit(generation_id_or_member_epoch=-1, member_id=""),
        member.commit(group_instance_id="x"),
        commit(connection, member.group),
    ]
    return seen


@probe
def fetches(asker: Asker) -> Any:
    connection = asker.connect()
    versions = range(1, 10)
    seen = [fetched(connection, asker.group, version, "orders") for version in versions]
    commit(connection, asker.group)
    seen += [fetched(connection, asker.group, version, "orders") for version in versions]
    seen += [fetched(connection, asker.group, version, None) for version in range(2, 10)]
    seen += [fetched(connection, asker.group, version, "nowhere") for version in (5, 9)]
    seen.append(fetched(connection, "", 9, "orders"))
    return seen


@probe
def descriptions(asker: Asker) -> Any:
    seen: list[Any] = []
    member = asker.member("i")
    versions = range(7 if asker.release > 3 else 6)

    def look(group: str, version: int, operations: bool = False) -> None:
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=operations)
        (found,) = member.call(request, version).groups
        message = (found.error_message or "").replace(group, "G")
        seen.append([
            found.error_code, message, found.group_state, found.protocol_type, found.protocol_data,
            found.authorized_operations,
            [(m.client_id, m.client_host, m.group_instance_id, m.member_metadata,
              m.member_assignment) for m in found.members],
        ])  # fmt: skip

    for version in versions:
        look(f"{asker.group}-none", version)
    member.join()
    look(asker.group, 5)
    member.sync_mine()
    for version in versions:
        look(asker.group, version)
    look(asker.group, 5, operations=True)
    look("", 5)
    commit(member, f"{asker.group}-simple")
    look(f"{asker.group}-simple", 5)
    member.call(
        LeaveGroupRequest(
            group_id=asker.group,
            members=[MemberIdentity(member_id="", group_instance_id="i")],
        ),
        5,
    )
    look(asker.group, 5)
    consumer = ConsumerGroupDescribeRequest(group_ids=[asker.group, f"{asker.group}-none"])
    if asker.release > 3:
        for found in member.call(consumer, 1).groups:
            name = found.group_id
            seen.append([found.error_code, (found.error_message or "").replace(name, "G")])
    return seen


@probe
def lists(asker: Asker) -> Any:
    member = asker.member().settle()
    commit(member, f"{asker.group}-simple")
    seen = []
    for version, states, types in (
        *((version, [], []) for version in range(6)),
        (4, ["stable"], []), (5, ["Empty", "Dead"], []), (5, [], ["Classic"]),
        (5, [], ["consumer"]), (5, ["Stable"], ["classic", "consumer"]),
    ):  # fmt: skip
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        answer = member.call(request, version)
        mine = sorted(
            (
                g.group_id.removeprefix(asker.group),
                g.protocol_type,
                g.group_state,
                g.group_type.lower(),
            )
            for g in answer.groups
            if g.group_id.startswith(asker.group)
        )
        seen.append((answer.error_code, mine))
    return seen


@probe
def deletions(asker: Asker) -> Any:
    member = asker.member().settle()
    simple = f"{asker.group}-simple"
    seen = []
    for version in range(3):
        commit(member, simple)
        request = DeleteGroupsRequest(groups_names=[simple, asker.group, f"{asker.group}-none"])
        answer = member.call(request, version)
        codes = {r.group_id.removeprefix(asker.group): r.error_code for r in answer.results}
        seen.append((codes, fetched(member, simple, 5, None)))
    return seen


@probe
def offset_deletions(asker: Asker) -> Any:
    member = asker.member().settle()
    member.commit()
    member.commit(topic="audit")
    commit(member, f"{asker.group}-simple")
    connect = asker.member(protocol_type="connect")
    connect.group = f"{asker.group}-connect"
    connect.settle()
    seen = []
    for group in ("", "-simple", "-none", "-connect"):
        topics = [
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=i) for i in (0, 9)],
            )
            for name in ("orders", "audit", "nowhere")
        ]
        request = OffsetDeleteRequest(group_id=asker.group + group, topics=topics)
        answer = member.call(request, 0)
        partitions = sorted(
            (t.name, p.partition_index, p.error_code) for t in answer.topics for p in t.partitions
        )
        seen.append((answer.error_code, partitions if not answer.error_code else []))
        seen.append(fetched(member, asker.group + group, 5, None))
    return seen


@probe
def coordinators(asker: Asker) -> Any:
    connection = asker.connect()
    seen: list[Any] = []
    for version in range(4):
        found = connection.call(FindCoordinatorRequest(key=asker.group), version)
        seen.append((found.error_code, _said(found), found.host))
    for kind, version in ((2, 3), (9, 1)):
        found = connection.call(FindCoordinatorRequest(key=asker.group, key_type=kind), version)
        seen.append((found.error_code, _said(found), found.host))
    for kind, version in ((0, 4), (0, 6), (2, 5), (9, 6)):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[asker.group, ""])
        answer = connection.call(request, version)
        seen.append([(c.error_code, _said(c), c.host) for c in answer.coordinators])
    return seen


def _said(found: Any) -> Any:
    """The message of a success; of an error, whether there is one."""
    return bool(found.error_message) if found.error_code else found.error_message


@probe
def a_group_whose_last_offset_is_deleted(asker: Asker) -> Any:
    """A simple group, and one that had members."""
    member = asker.member()
    member.settle()
    member.commit()
    left = LeaveGroupRequest(
        group_id=asker.group, members=[MemberIdentity(member_id=member.member_id)]
    )
    member.call(left, 5)
    simple = f"{asker.group}-simple"
    commit(member, simple)
    topics = [
        OffsetDeleteRequestTopic(
            name="orders", partitions=[OffsetDeleteRequestPartition(partition_index=0)]
        )
    ]
    seen: list[Any] = []
    for group in (asker.group, simple):
        answer = member.call(OffsetDeleteRequest(group_id=group, topics=topics), 0)
        described = member.call(DescribeGroupsRequest(groups=[group]), 4).groups[0]
        listed = [g.group_id for g in member.call(ListGroupsRequest(), 3).groups]
        seen.append((answer.error_code, described.group_state, group in listed))
        deleted = member.call(DeleteGroupsRequest(groups_names=[group]), 2).results[0]
        listed = [g.group_id for g in member.call(ListGroupsRequest(), 3).groups]
        seen.append((deleted.error_code, group in listed))
    return seen


@probe
def metadata_of_topics_that_are_not_there(asker: Asker) -> Any:
    connection = asker.connect()
    seen: list[Any] = []
    for name in ("nowhere", "__transaction_state", "bad name!"):
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        request.allow_auto_topic_creation = False
        for version in (4, 12):
            (topic,) = connection.call(request, version).topics
            seen.append((topic.error_code, topic.name, topic.is_internal, topic.topic_id))
    return seen
