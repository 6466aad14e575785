"""Structs at a version: fields in order, fields that are absent, nulls, nested defaults."""

from __future__ import annotations

import pytest

from barnabas.wire.arrays import Array
from barnabas.wire.errors import Malformed, Truncated, UnsupportedVersion
from barnabas.wire.primitives import UUID, Int8, Int16, Int32
from barnabas.wire.schema import Struct, field, struct
from barnabas.wire.strings import String
from barnabas.wire.structs import StructCodec
from barnabas.wire.uuids import Uuid
from tests.wire.both_paths import read, refuses_to_read, refuses_to_write, write


@struct
class Leader(Struct):
    node_id: int = field(Int32, default=-1)
    epoch: int = field(Int16, since=2, default=-1)


@struct
class Partition(Struct):
    """Version 0 has no topic id; 1 adds it; 2 drops the old flag; the leader is a tag."""

    index: int = field(Int32, default=0)
    topic_id: Uuid = field(UUID, since=1, ignorable=True, default=Uuid(16))
    flag: int = field(Int8, until=1, default=5)
    name: str | None = field(String, since=1, nullable=2, default="")
    leader: Leader | None = field(Leader, since=2, nullable=2, default=None)
    hint: Leader | None = field(Leader, since=2, tag=0, default=None)
    best: Leader | None = field(Leader, since=2, tag=1, nullable=2, default=None)
    replicas: list[Leader] = field(Array(Leader), since=1, default_factory=list)


def at(version: int) -> StructCodec:
    return StructCodec(Partition, version, flexible=version >= 2)


ID = "000102030405060708090a0b0c0d0e0f"


def test_golden_version_0() -> None:
    data = bytes.fromhex("00000007 05")
    assert write(at(0), Partition(index=7)) == data
    assert read(at(0), data) == Partition(index=7)


def test_golden_version_1() -> None:
    data = bytes.fromhex(
        "00000007"  # index
        + ID  # topic_id
        + "09"  # flag
        + "0002 6162"  # name
        + "00000001 00000003"  # one replica, without its epoch
    )
    value = Partition(
        index=7, topic_id=Uuid(range(16)), flag=9, name="ab", replicas=[Leader(node_id=3)]
    )
    assert write(at(1), value) == data
    assert read(at(1), data) == value


def test_golden_version_2() -> None:
    data = bytes.fromhex(
        "00000007"  # index
        + ID  # topic_id
        + "00"  # name is null
        + "01 00000003 0004 00"  # leader: not null, its fields, no tags
        + "02 00000005 0006 00"  # one replica
        + "02"  # two tagged fields
        + "00 07 00000001 0002 00"  # tag 0: hint, no byte in front
        + "01 08 01 00000008 0009 00"  # tag 1: best, which can be null
    )
    value = Partition(
        index=7,
        topic_id=Uuid(range(16)),
        name=None,
        leader=Leader(node_id=3, epoch=4),
        replicas=[Leader(node_id=5, epoch=6)],
        hint=Leader(node_id=1, epoch=2),
        best=Leader(node_id=8, epoch=9),
    )
    assert write(at(2), value) == data
    assert read(at(2), data) == value


def test_null_structs() -> None:
    data = bytes.fromhex("00000000" + "00" * 16 + "01 ff 01 00")
    assert write(at(2), Partition()) == data
    assert read(at(2), data) == Partition()
    tag_that_is_null = data[:-1] + bytes.fromhex("01 01 01 00")
    assert read(at(2), tag_that_is_null).best is None


def test_a_tagged_struct_of_defaults_is_not_sent() -> None:
    """Kafka has no null there: the struct of defaults and none are the same bytes."""
    assert write(at(2), Partition(hint=Leader())) == write(at(2), Partition())


def test_what_a_version_lacks() -> None:
    lost = read(at(0), write(at(0), Partition(topic_id=Uuid(range(16)))))
    assert lost.topic_id == Uuid(16)
    reason = "not in version 0 and not ignorable"
    refuses_to_write(at(0), Partition(name="ab"), UnsupportedVersion, reason)
    refuses_to_write(at(0), Partition(replicas=[Leader()]), UnsupportedVersion, reason)
    refuses_to_write(
        at(1), Partition(replicas=[Leader(epoch=1)]), UnsupportedVersion, "not in version 1"
    )
    refuses_to_write(at(2), Partition(flag=1), UnsupportedVersion, "not in version 2")


def test_the_reference_path_names_the_place() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        at(1).build(Partition(replicas=[Leader(), Leader(epoch=1)]))
    assert caught.value.path.endswith("replicas[1].epoch")
    with pytest.raises(Truncated) as cut:
        at(1).parse(bytes.fromhex("00000007" + ID + "09 0002 61"))
    assert cut.value.path.endswith("name")


def test_null_where_none_may_be() -> None:
    refuses_to_write(at(1), None, Malformed)
    refuses_to_write(at(1), Partition(name=None), Malformed)
    refuses_to_read(at(1), bytes.fromhex("00000007" + ID + "09 ffff"), Malformed, "null where")


def test_the_least_that_a_struct_occupies() -> None:
    assert at(0).minimum_bytes == 5
    assert at(1).minimum_bytes == 4 + 16 + 1 + 2 + 4
    assert at(2).minimum_bytes == 4 + 16 + 1 + 1 + 1 + 1
