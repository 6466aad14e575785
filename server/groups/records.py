"""Groups and offsets as records of __consumer_offsets, in the versions that Kafka writes.

A key begins with an int16 that says what it is: 0 and 1 a committed offset, 2 a classic
group; above come KIP-848 and later. A value begins with its own int16 version, a null value is
a tombstone. Kafka 3.9 writes offsets in version 3, 4.x in version 4, which has room for the
topic's id; an offset with an expiry of its own is written in version 1, the last that has
room for that. Groups are written in version 3 by both.
"""

from collections.abc import Mapping
from struct import Struct, error
from typing import NamedTuple

from barnabas.server.groups.group import Group
from barnabas.server.groups.members import Member
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.groups.protocols import metadata_for
from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas.wire.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from barnabas.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas.wire.messages.offset_commit_value import OffsetCommitValue

LEGACY_OFFSET, OFFSET, GROUP = 0, 1, 2
_TYPE = Struct(">h")
_PREFIX_BYTES = _TYPE.size
_GROUP_VERSION = 3
_EXPIRING_OFFSET_VERSION = 1
OFFSET_VERSION = 3
OFFSET_VERSION_WITH_TOPIC_ID = 4

_OFFSET_KEY = OffsetCommitKey.at(1)
_GROUP_KEY = GroupMetadataKey.at(0)


class OffsetKey(NamedTuple):
    """Whose offset it is."""

    group_id: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """Which group it is."""

    group_id: str


class UnknownKey(NamedTuple):
    """A record of a kind that this coordinator does not keep."""

    record_type: int


class MalformedRecord(Exception):
    """A key or value that cannot be read."""


Key = OffsetKey | GroupKey | UnknownKey


def encode_offset_key(group_id: str, topic: str, partition: int) -> bytes:
    """The key of a committed offset."""
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    return _TYPE.pack(OFFSET) + _OFFSET_KEY.build(key)


def encode_group_key(group_id: str) -> bytes:
    """The key of a group."""
    return _TYPE.pack(GROUP) + _GROUP_KEY.build(GroupMetadataKey(group=group_id))


def decode_key(key: bytes | None) -> Key:
    """What a record is about. Raises MalformedRecord."""
    try:
        record_type = _TYPE.unpack_from(key or b"")[0]
        view = memoryview(key or b"")
        if record_type in (LEGACY_OFFSET, OFFSET):
            offset = _OFFSET_KEY.decode(view, _PREFIX_BYTES)
            return OffsetKey(offset.group, offset.topic, offset.partition)
        if record_type == GROUP:
            return GroupKey(_GROUP_KEY.decode(view, _PREFIX_BYTES).group)
    except (error, ProtocolError) as fault:
        raise MalformedRecord(f"a key cannot be read: {fault}") from None
    return UnknownKey(record_type)


def encode_offset(committed: CommittedOffset, version: int = OFFSET_VERSION) -> bytes:
    """The value of a committed offset, in this version if it has no expiry of its own."""
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
    )
    if committed.expire_timestamp_ms is not None:
        version = _EXPIRING_OFFSET_VERSION
        value.expire_timestamp = committed.expire_timestamp_ms
    elif version >= OFFSET_VERSION_WITH_TOPIC_ID:
        value.topic_id = committed.topic_id
    return _TYPE.pack(version) + OffsetCommitValue.at(version).build(value)


def decode_offset(value: bytes, log_offset: int) -> CommittedOffset:
    """A committed offset out of a record at `log_offset`. Raises MalformedRecord."""
    try:
        version = _TYPE.unpack_from(value)[0]
        read = OffsetCommitValue.at(version).decode(memoryview(value), _PREFIX_BYTES)
    except (error, ProtocolError) as fault:
        raise MalformedRecord(f"a committed offset cannot be read: {fault}") from None
    return CommittedOffset(
        read.offset,
        read.leader_epoch,
        read.metadata,
        read.commit_timestamp,
        None if read.expire_timestamp < 0 else read.expire_timestamp,
        read.topic_id,
        log_offset,
    )


def encode_group(group: Group, assignments: Mapping[str, bytes]) -> bytes:
    """The value of a group of which the members have these assignments."""
    protocol = group.protocol_name
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=protocol,
        leader=group.members.leader_id,
        current_state_timestamp=-1
        if group.state_timestamp_ms is None
        else group.state_timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=metadata_for(member.protocols, protocol or ""),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in group.members.by_id.values()
        ],
    )
    return _TYPE.pack(_GROUP_VERSION) + GroupMetadataValue.at(_GROUP_VERSION).build(value)


def decode_group(value: bytes) -> GroupMetadataValue:
    """A group's record; members of version 0 have their session timeout for both.

    Raises MalformedRecord.
    """
    try:
        version = _TYPE.unpack_from(value)[0]
        read = GroupMetadataValue.at(version).decode(memoryview(value), _PREFIX_BYTES)
    except (error, ProtocolError) as fault:
        raise MalformedRecord(f"a group cannot be read: {fault}") from None
    for member in read.members:
        if member.rebalance_timeout < 0:
            member.rebalance_timeout = member.session_timeout
    return read


def restore_members(group: Group, read: GroupMetadataValue) -> None:
    """Fill a new group with what its record says."""
    group.protocol_type = read.protocol_type or None
    group.protocol_name = read.protocol
    group.generation = read.generation
    timestamp_ms = read.current_state_timestamp
    group.state_timestamp_ms = None if timestamp_ms < 0 else timestamp_ms
    for each in read.members:
        member = Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            each.rebalance_timeout,
            each.session_timeout,
            ((read.protocol or "", bytes(each.subscription)),),
            bytes(each.assignment),
        )
        group.members.add(member)
    group.members.leader_id = read.leader
