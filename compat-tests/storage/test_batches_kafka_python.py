"""kafka-python's own record classes as a second opinion, in both directions.

Its optional codec libraries are not installed; gzip is in Python. The other codecs are compared
with Apache's own code in `test_batches_dump.py` and in the golden files.
"""

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import parse_header
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Headers, Record, decode_all

with warnings.catch_warnings():  # it reads its resources in a way Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import MemoryRecords, MemoryRecordsBuilder

BYTES = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=10), BYTES), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(st.integers(0, 1 << 44), BYTES, BYTES, HEADERS), min_size=1, max_size=10)
Rows = list[tuple[int, bytes | None, bytes | None, Headers]]
CODECS = st.sampled_from([Codec.NONE, Codec.GZIP])


def as_records(rows: Rows, *, headers: bool, timestamps: bool = True) -> list[Record]:
    return [
        Record(offset, row[0] if timestamps else -1, row[1], row[2], row[3] if headers else ())
        for offset, row in enumerate(rows)
    ]


def theirs(data: bytes | bytearray) -> list[Record]:
    """What kafka-python decodes; it has None where a timestamp is missing."""
    batches: Any = MemoryRecords(bytes(data))
    found = []
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        found += [
            Record(
                record.offset,
                -1 if record.timestamp is None else record.timestamp,
                record.key,
                record.value,
                tuple(record.headers),
            )
            for record in batch
        ]
    return found


@given(rows=ROWS, codec=CODECS)
def test_they_read_our_format_2(rows: Rows, codec: Codec) -> None:
    records = as_records(rows, headers=True)
    assert theirs(build_batch(records, codec=codec)) == records


@given(rows=ROWS, codec=CODECS, magic=st.sampled_from([0, 1]))
def test_they_read_our_message_sets(rows: Rows, codec: Codec, magic: int) -> None:
    records = as_records(rows, headers=False, timestamps=magic == 1)
    assert theirs(build_message_set(records, magic, codec=codec)) == records


@given(rows=ROWS, codec=CODECS, magic=st.sampled_from([0, 1, 2]))
def test_we_read_theirs(rows: Rows, codec: Codec, magic: int) -> None:
    records = as_records(rows, headers=magic == 2, timestamps=magic > 0)
    data = their_bytes(records, codec, magic)
    assert list(decode_all(data)) == records


def their_bytes(records: list[Record], codec: Codec, magic: int) -> bytes:
    builder: Any = MemoryRecordsBuilder(magic, int(codec), 1 << 20)
    for record in records:
        timestamp = record.timestamp if magic else None
        headers = list(record.headers) if magic == 2 else None
        assert builder.append(timestamp, record.key, record.value, headers)
    builder.close()
    return bytes(builder.buffer())


@pytest.mark.parametrize("magic", [0, 1])
@given(rows=ROWS)
def test_plain_messages_are_the_same_bytes(magic: int, rows: Rows) -> None:
    records = as_records(rows, headers=False, timestamps=magic == 1)
    assert build_message_set(records, magic) == their_bytes(records, Codec.NONE, magic)


@given(rows=ROWS)
def test_plain_batches_are_the_same_bytes(rows: Rows) -> None:
    records = as_records(rows, headers=True)
    ours, data = build_batch(records), their_bytes(records, Codec.NONE, 2)
    their_epoch = parse_header(data).partition_leader_epoch
    assert build_batch(records, leader_epoch=their_epoch) == data
    assert len(ours) == len(data)
