"""Groups as golden answers show them: members, their generation, what they committed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.wire.api import ApiKey
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until

if TYPE_CHECKING:
    from tests.server.golden_world import World

MEMBER_ID_REQUIRED = 79


def _coordinated(world: "World", group: str) -> None:
    """See to it that this broker coordinates the group."""
    request = FindCoordinatorRequest(key=group)
    wait_until(lambda: not world.client.call(request, 2).error_code)


def _join(
    world: "World",
    group: str,
    protocol: str = "range",
    instance_id: str | None = None,
    client: RawClient | None = None,
    metadata: bytes = b"",
) -> tuple[str, int]:
    """Join as the only member; (member id, generation)."""
    _coordinated(world, group)
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id="",
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name=protocol, metadata=metadata)],
    )
    answer = (client or world.client).call(request, 5)
    if answer.error_code == MEMBER_ID_REQUIRED:
        request.member_id = answer.member_id
        answer = (client or world.client).call(request, 5)
    assert answer.error_code == 0
    return answer.member_id, answer.generation_id


def _settle(
    world: "World",
    group: str,
    instance_id: str | None = None,
    client: RawClient | None = None,
    metadata: bytes = b"",
    assignment: bytes = b"",
    protocol: str = "range",
) -> tuple[str, int]:
    """Be the only member of a stable group; (member id, generation)."""
    member_id, generation = _join(world, group, protocol, instance_id, client, metadata)
    request = SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)],
    )
    assert (client or world.client).call(request, 3).error_code == 0
    return member_id, generation


def _leave(world: "World", group: str, member_id: str) -> None:
    request = LeaveGroupRequest(group_id=group, member_id=member_id)
    assert world.client.call(request, 1).error_code == 0


def _commit(world: "World", group: str, topic: str, *partitions: Any) -> None:
    """Commit as a client outside of groups: what OffsetFetch answered of these partitions."""
    _coordinated(world, group)
    request = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                name=world.topic(topic),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=part.partition_index,
                        committed_offset=getattr(part, "committed_offset", 0),
                        committed_leader_epoch=getattr(part, "committed_leader_epoch", -1),
                        committed_metadata=getattr(part, "metadata", ""),
                    )
                    for part in partitions
                ],
            )
        ],
    )
    assert world.client.call(request, 8).topics[0].partitions[0].error_code == 0


def _join_group(world: "World", request: Any, answer: Any) -> None:
    """The second request of a new member, which has just been told its id."""
    _coordinated(world, request.group_id)
    if request.member_id:
        given, request.member_id = request.member_id, ""
        asked = world.client.call(request, max(4, request_version(request)))
        assert given and asked.error_code == MEMBER_ID_REQUIRED
        request.member_id = asked.member_id


def request_version(request: JoinGroupRequest) -> int:
    """The lowest version that carries what the request has."""
    return 8 if request.reason is not None else 5


def _sync_group(world: "World", request: Any, answer: Any) -> None:
    protocol = request.protocol_name or "range"
    member_id, generation = _join(world, request.group_id, protocol)
    request.member_id, request.generation_id = member_id, generation
    for assignment in request.assignments:
        assignment.member_id = member_id


def _heartbeat(world: "World", request: Any, answer: Any) -> None:
    _coordinated(world, request.group_id)
    if not answer.error_code:
        request.member_id, request.generation_id = _settle(
            world, request.group_id, request.group_instance_id
        )


def _leave_group(world: "World", request: Any, answer: Any) -> None:
    member_id, _ = _settle(world, request.group_id)
    request.member_id = member_id if request.member_id else ""
    for member in request.members:
        member.member_id = member_id


def _offset_commit(world: "World", request: Any, answer: Any) -> None:
    _coordinated(world, request.group_id)
    for topic in request.topics:
        world.topic(topic.name or "w1", topic_id=topic.topic_id)
    if request.generation_id_or_member_epoch >= 0:
        request.member_id, request.generation_id_or_member_epoch = _settle(
            world, request.group_id, request.group_instance_id
        )


def _offset_fetch(world: "World", request: Any, answer: Any) -> None:
    groups = answer.groups or [answer]
    for group, asked in zip(groups, request.groups or [request], strict=True):
        if request.groups:
            asked.member_id, asked.member_epoch = None, -1
        _coordinated(world, asked.group_id)
        for topic in group.topics:
            topic_id = getattr(topic, "topic_id", None)
            name = world.topic(topic.name or "w1", **({"topic_id": topic_id} if topic_id else {}))
            known = [part for part in topic.partitions if part.committed_offset >= 0]
            if known:
                _commit(world, asked.group_id, name, *known)


def _groups(world: "World", request: Any, answer: Any) -> None:
    """Groups with members that stay, that have left, or that never were."""
    for group in answer.groups:
        members = getattr(group, "members", None) or [None]
        _coordinated(world, group.group_id)
        if group.group_state == "Stable":
            member: Any = members[0]
            client = world.another_client(member.client_id if member else "probe")
            _settle(
                world,
                group.group_id,
                client=client,
                metadata=bytes(member.member_metadata) if member else b"",
                assignment=bytes(member.member_assignment) if member else b"",
            )
        elif group.group_state == "Empty" and group.protocol_type:
            _leave(world, group.group_id, _settle(world, group.group_id)[0])
        elif group.group_state == "Empty":
            _commit(world, group.group_id, "w1", PARTITION_0)


def _consumer_groups(world: "World", request: Any, answer: Any) -> None:
    for group in request.group_ids:
        _leave(world, group, _settle(world, group)[0])


def _delete_groups(world: "World", request: Any, answer: Any) -> None:
    for group in request.groups_names:
        _commit(world, group, "w1", PARTITION_0)


def _offset_delete(world: "World", request: Any, answer: Any) -> None:
    for topic in request.topics:
        _commit(world, request.group_id, topic.name, *topic.partitions)


class _Partition:
    partition_index = 0


PARTITION_0 = _Partition()

STEPS: dict[ApiKey, Callable[["World", Any, Any], None]] = {
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.SYNC_GROUP: _sync_group,
    ApiKey.HEARTBEAT: _heartbeat,
    ApiKey.LEAVE_GROUP: _leave_group,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.LIST_GROUPS: _groups,
    ApiKey.DESCRIBE_GROUPS: _groups,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _consumer_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.OFFSET_DELETE: _offset_delete,
}
