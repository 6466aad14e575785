"""Records of groups and offsets, against those that Apache Kafka wrote."""

import base64
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.groups.group import Group
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.groups.protocols import subscribed_topics
from barnabas.server.groups.records import (
    GroupKey,
    MalformedRecord,
    OffsetKey,
    UnknownKey,
    decode_group,
    decode_key,
    decode_offset,
    encode_group,
    encode_group_key,
    encode_offset,
    encode_offset_key,
    restore_members,
)
from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.wire.uuids import Uuid

from .golden import VERSIONS, dumped_batches, key_and_payload, unpack
from .world import World

Written = list[tuple[BatchHeader, Record]]


def _written(version: str, into: Path) -> Written:
    """The records of every partition, control records left out."""
    return [
        (header, record)
        for log in sorted(unpack(version, into).glob("*/*.log"))
        for data in (log.read_bytes(),)
        for header in walk(data)
        if not header.is_control
        for record in decode_batch(data, header)
    ]


def _dumped(version: str) -> list[tuple[Any, Any]]:
    return [
        key_and_payload(line)
        for _, batch in dumped_batches(version)
        if not batch["isControl"]
        for line in batch["records"]
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_kafka_wrote_is_read_as_its_own_tool_reads_it(version: str, tmp_path: Path) -> None:
    written, dumped = _written(version, tmp_path), _dumped(version)
    assert len(written) == len(dumped) > 10
    kinds = set()
    for (header, record), (key, payload) in zip(written, dumped, strict=True):
        found = decode_key(record.key)
        kinds.add(type(found))
        if isinstance(found, OffsetKey):
            assert key["data"] == dict(zip(("group", "topic", "partition"), found, strict=True))
            if record.value is not None:
                _assert_same_offset(decode_offset(record.value, header.base_offset), payload)
        elif isinstance(found, GroupKey):
            assert key["data"] == {"group": found.group_id}
            if record.value is not None:
                _assert_same_group(record.value, payload)
        else:
            assert str(found.record_type) == key["type"]
        assert (record.value is None) == (payload is None)
    assert {OffsetKey, GroupKey} <= kinds


def _assert_same_offset(found: CommittedOffset, payload: dict[str, Any]) -> None:
    data = payload["data"]
    assert found.offset == data["offset"]
    assert found.leader_epoch == data["leaderEpoch"]
    assert found.metadata == data["metadata"]
    assert found.commit_timestamp_ms == data["commitTimestamp"]
    if "topicId" in data:
        assert found.topic_id == Uuid.from_text(data["topicId"])


def _assert_same_group(value: bytes, payload: dict[str, Any]) -> None:
    found, data = decode_group(value), payload["data"]
    assert found.protocol_type == data["protocolType"]
    assert found.generation == data["generation"]
    assert (found.protocol, found.leader) == (data["protocol"], data["leader"])
    assert found.current_state_timestamp == data["currentStateTimestamp"]
    assert len(found.members) == len(data["members"])
    for member, shown in zip(found.members, data["members"], strict=True):
        assert (member.member_id, member.group_instance_id) == (
            shown["memberId"],
            shown["groupInstanceId"],
        )
        assert (member.client_id, member.client_host) == (shown["clientId"], shown["clientHost"])
        assert (member.rebalance_timeout, member.session_timeout) == (
            shown["rebalanceTimeout"],
            shown["sessionTimeout"],
        )
        assert subscribed_topics([member.subscription]) == set(shown["subscription"]["topics"])
        assignment = ConsumerProtocolAssignment.at(0).parse(member.assignment, 2)
        assert [
            {"topic": each.topic, "partitions": each.partitions}
            for each in assignment.assigned_partitions
        ] == shown["assignment"]["assignedPartitions"]


@pytest.mark.parametrize("version_of_kafka", VERSIONS)
def test_what_kafka_wrote_is_written_again_byte_for_byte(
    version_of_kafka: str, tmp_path: Path
) -> None:
    """Groups and offsets through our objects and back are the very same bytes."""
    seen = 0
    for _, record in _written(version_of_kafka, tmp_path):
        key = decode_key(record.key)
        if isinstance(key, UnknownKey) or record.value is None:
            continue
        if isinstance(key, OffsetKey):
            assert encode_offset_key(*key) == record.key
            version = 4 if version_of_kafka.startswith("4") else 3
            assert encode_offset(decode_offset(record.value, 0), version) == record.value
        else:
            assert encode_group_key(key.group_id) == record.key
            group = _restored(key.group_id, record.value)
            assignments = {m.member_id: m.assignment for m in group.members.by_id.values()}
            assert encode_group(group, assignments) == record.value
        seen += 1
    assert seen > 10


def _restored(group_id: str, value: bytes) -> Group:
    shard: Any = None
    group = Group(group_id, shard, None)
    restore_members(group, decode_group(value))
    return group


def test_an_offset_with_an_expiry_of_its_own_is_written_in_version_1() -> None:
    committed = CommittedOffset(5, 3, "m", 1_000, 2_000)
    value = encode_offset(committed)
    assert value == b"".join(
        (
            (1).to_bytes(2, "big"),  # version
            (5).to_bytes(8, "big"),  # offset
            b"\x00\x01m",  # metadata
            (1_000).to_bytes(8, "big"),  # committed at
            (2_000).to_bytes(8, "big"),  # expires at
        )
    )
    assert decode_offset(value, 9) == CommittedOffset(5, -1, "m", 1_000, 2_000, log_offset=9)


def test_old_keys_and_values_are_read(world: World) -> None:
    key = b"\x00\x00" + b"\x00\x01g" + b"\x00\x01t" + (4).to_bytes(4, "big")
    assert decode_key(key) == OffsetKey("g", "t", 4)
    value = b"\x00\x00" + (5).to_bytes(8, "big") + b"\x00\x00" + (9).to_bytes(8, "big")
    assert decode_offset(value, 0) == CommittedOffset(5, -1, "", 9, log_offset=0)
    version_0 = base64.b64decode(
        "AAAACGNvbnN1bWVyAAAABwAFcmFuZ2UAAW0AAAABAAFtAAFjAAEvAAAnEAAAAAFTAAAAAUE="
    )
    shard = world.groups.shards.find(0)
    assert shard is not None
    group = Group("g", shard, None)
    restore_members(group, decode_group(version_0))
    member = group.members.by_id["m"]
    assert (group.generation, group.members.leader_id) == (7, "m")
    assert group.state_timestamp_ms is None
    assert (member.rebalance_timeout_ms, member.session_timeout_ms) == (10_000, 10_000)
    assert (member.protocols, member.assignment) == ((("range", b"S"),), b"A")


@pytest.mark.parametrize("key", [None, b"", b"\x00", b"\x00\x01\x00\x05g", b"\x00\x02\xff\xff"])
def test_damaged_keys(key: bytes | None) -> None:
    with pytest.raises(MalformedRecord):
        decode_key(key)


@pytest.mark.parametrize("value", [b"", b"\x00\x03", b"\x00\x63" + bytes(40), b"\xff\xff"])
def test_damaged_values(value: bytes) -> None:
    with pytest.raises(MalformedRecord):
        decode_offset(value, 0)
    with pytest.raises(MalformedRecord):
        decode_group(value)


def test_kinds_that_are_not_ours() -> None:
    assert decode_key(b"\x00\x03\x00\x01g") == UnknownKey(3)
