"""Control records: transaction markers and leader changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.control_records import (
    EndTransactionMarker,
    LeaderChange,
    OtherControl,
    parse_control,
)
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import CorruptBatch


def control(key: bytes | None, value: bytes | None) -> Record:
    return Record(9, 0, key, value)


@given(st.booleans(), st.integers(-(1 << 31), (1 << 31) - 1))
def test_marker_round_trip(is_commit: bool, epoch: int) -> None:
    marker = EndTransactionMarker(is_commit, epoch)
    assert parse_control(control(marker.key, marker.value)) == marker


def test_marker_bytes() -> None:
    assert EndTransactionMarker(True, 7).key.hex() == "00000001"
    assert EndTransactionMarker(False, 7).key.hex() == "00000000"
    assert EndTransactionMarker(True, 7).value.hex() == "000000000007"


def test_longer_markers_of_newer_brokers_are_read() -> None:
    record = control(bytes.fromhex("00000001"), bytes.fromhex("000100000007beef"))
    assert parse_control(record) == EndTransactionMarker(True, 7)


def test_leader_changes() -> None:
    old = bytes.fromhex("00000000000203000000010000000002000100")
    new = bytes.fromhex("0001000000020200000002" + "ab" * 16 + "000100")
    key = bytes.fromhex("00000002")
    assert parse_control(control(key, old)) == LeaderChange(2, (1, 2))
    assert parse_control(control(key, new)) == LeaderChange(2, (2,))


def test_unknown_types_are_kept() -> None:
    assert parse_control(control(bytes.fromhex("00000063"), b"anything")) == OtherControl(99)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\0\0", b""),
        (bytes.fromhex("ffff0001"), bytes(6)),
        (bytes.fromhex("00000001"), None),
        (bytes.fromhex("00000001"), bytes(5)),
        (bytes.fromhex("00000001"), bytes.fromhex("ffff00000000")),
        (bytes.fromhex("00000002"), bytes(5)),
        (bytes.fromhex("00000002"), bytes.fromhex("0000000000020500000001")),
    ],
)
def test_malformed(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatch) as caught:
        parse_control(control(key, value))
    assert caught.value.offset == 9
