"""Transactional ids as records: the bytes Kafka writes, and what cannot be read."""

import pytest

from barnabas.server.transactions.records import (
    MalformedRecord,
    UnknownVersion,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import Transaction

OPEN = Transaction(
    "ids",
    7,
    60_000,
    1_700_000_000_001,
    producer_epoch=3,
    previous_producer_id=7,
    state=TransactionState.ONGOING,
    partitions=frozenset({("b", 1), ("a", 2), ("a", 0)}),
    start_ms=1_700_000_000_000,
)
V0_BYTES = bytes.fromhex(
    "0000"  # version
    "0000000000000007"  # producer id
    "0003"  # its epoch
    "0000ea60"  # timeout
    "01"  # Ongoing
    "00000002"  # topics
    "000161" "00000002" "00000000" "00000002"  # a: 0, 2
    "000162" "00000001" "00000001"  # b: 1
    "0000018bcfe56801"  # last update
    "0000018bcfe56800"  # start
)  # fmt: skip


def test_a_key_is_that_of_kafka() -> None:
    assert encode_key("ids") == bytes.fromhex("0000 0003") + b"ids"
    assert decode_key(encode_key("ids")) == "ids"


def test_version_0_is_written_while_the_feature_is_at_0() -> None:
    assert encode_value(OPEN, 0) == V0_BYTES
    # What has no room in it is as good as unknown.
    assert decode_value("ids", V0_BYTES) == OPEN._replace(previous_producer_id=-1)


@pytest.mark.parametrize("feature", [1, 2])
def test_version_1_has_room_for_everything(feature: int) -> None:
    prepared = OPEN._replace(
        state=TransactionState.PREPARE_COMMIT, next_producer_id=8, client_version=2
    )
    value = encode_value(prepared, feature)
    assert value[:2] == b"\x00\x01"
    assert decode_value("ids", value) == prepared


def test_nothing_that_is_needed_is_left_out_under_an_old_feature_level() -> None:
    prepared = OPEN._replace(next_producer_id=8, client_version=2)
    assert decode_value("ids", encode_value(prepared, 0)) == prepared


def test_an_empty_state_has_no_partitions_at_all() -> None:
    empty = Transaction("ids", 7, 60_000, 1, producer_epoch=0)
    value = encode_value(empty, 0)
    assert value[17:21] == b"\xff\xff\xff\xff", "null, not an empty list"
    assert decode_value("ids", value) == empty


@pytest.mark.parametrize("cut", range(len(V0_BYTES)))
def test_a_value_that_is_cut_short(cut: int) -> None:
    with pytest.raises(MalformedRecord):
        decode_value("ids", V0_BYTES[:cut])


@pytest.mark.parametrize("key", [None, b"", b"\x00", b"\x00\x00\x00\x09ids"])
def test_a_key_that_cannot_be_read(key: bytes | None) -> None:
    with pytest.raises(MalformedRecord):
        decode_key(key)


def test_a_state_that_nobody_knows() -> None:
    with pytest.raises(MalformedRecord):
        decode_value("ids", V0_BYTES[:16] + b"\x09" + V0_BYTES[17:])


def test_versions_that_are_not_known() -> None:
    with pytest.raises(UnknownVersion):
        decode_key(b"\x00\x01" + encode_key("ids")[2:])
    with pytest.raises(UnknownVersion):
        decode_value("ids", b"\x00\x02" + V0_BYTES[2:])
