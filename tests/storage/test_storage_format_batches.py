"""The worked examples of `docs/storage-format.md` that show batches and messages are true."""

import re
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import crc_is_valid, parse_header
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record, decode_all

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "storage-format.md"
TIME_MS = 1_700_000_000_000
HELLO = Record(100, TIME_MS, b"k1", b"hello")
TOMBSTONE = Record(101, TIME_MS + 250, b"k1", None)


def example(name: str) -> bytes:
    """The bytes of the fenced block ```hex <name>; what follows a | explains."""
    block = re.search(rf"^```hex {name}\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)
    assert block, name
    return bytes.fromhex("".join(line.split("|")[0] for line in block[1].splitlines()))


@pytest.mark.parametrize("name", ["batch", "marker", "message-0", "message-1", "wrapper"])
def test_examples_are_whole_and_valid(name: str) -> None:
    data = example(name)
    header = parse_header(data)
    assert header.size_bytes == len(data)
    assert crc_is_valid(data, header)


def test_batch() -> None:
    data = example("batch")
    header = parse_header(data)
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (100, 101, 3)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 0, 4)
    assert (header.codec, header.is_transactional, header.is_control) == (Codec.NONE, True, False)
    sent = [
        Record(100, TIME_MS, b"k1", b"hello", (("trace", b"\1"),), 4),
        Record(101, TIME_MS + 250, b"k1", None, (), 5),
    ]
    assert list(decode_all(data)) == sent
    rebuilt = build_batch(
        sent,
        leader_epoch=3,
        producer_id=9,
        producer_epoch=0,
        base_sequence=4,
        is_transactional=True,
    )
    assert rebuilt == data


def test_marker() -> None:
    data = example("marker")
    marker = EndTransactionMarker(is_commit=True, coordinator_epoch=2)
    assert [parse_control(record) for record in decode_all(data)] == [marker]
    rebuilt = build_end_transaction_marker(
        marker,
        producer_id=9,
        producer_epoch=0,
        timestamp_ms=TIME_MS + 500,
        base_offset=102,
        leader_epoch=3,
    )
    assert rebuilt == data


@pytest.mark.parametrize("magic", [0, 1])
def test_messages(magic: int) -> None:
    data = example(f"message-{magic}")
    sent = Record(100, TIME_MS if magic else -1, b"k1", b"hello")
    assert list(decode_all(data)) == [sent]
    assert build_message_set([sent], magic) == data


def test_wrapper() -> None:
    data = example("wrapper")
    header = parse_header(data)
    assert (header.codec, header.last_offset) == (Codec.SNAPPY, 101)
    assert header.max_timestamp == TIME_MS + 250
    assert list(decode_all(data)) == [HELLO, TOMBSTONE]
