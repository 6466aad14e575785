"""Batches read by arrays, held against decoding them record by record."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from barnabas.pipeline.log_source.errors import DamagedSegment
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import V2_CRC_POSITION, V2_HEADER_BYTES, walk
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Headers, Record, decode_all
from barnabas.storage.errors import CorruptBatch

from .reads import T0_MS, Row, a_batch, offsets, rows, write_segment

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SIZES = [0, 1, 3, 62, 63, 64, 127, 128, 500, 8191, 8192, 20_000]


def as_record(row: Row) -> Record:
    time = (row["timestamp"] - EPOCH) // timedelta(milliseconds=1)
    headers = tuple((each["key"], each["value"]) for each in row["headers"] or [])
    return Record(row["offset"], time, row["key"], row["value"], headers)


def without_sequence(data: bytes) -> list[Record]:
    decoded = decode_all(data)
    return [Record(r.offset, r.timestamp, r.key, r.value, as_java(r.headers)) for r in decoded]


def as_java(headers: Headers) -> Headers:
    """What is no UTF-8 in a key is kept by storage, and U+FFFD to Java."""
    return tuple(
        (key.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), value)
        for key, value in headers
    )


def some_bytes(rng: random.Random) -> bytes | None:
    return None if rng.random() < 0.2 else rng.randbytes(rng.choice(SIZES[: rng.randint(1, 12)]))


def some_headers(rng: random.Random, most: int) -> tuple[tuple[str, bytes | None], ...]:
    names = ["", "a", "clé", "trace-id" * 12]
    return tuple((rng.choice(names), some_bytes(rng)) for _ in range(rng.randint(0, most)))


def some_batches(rng: random.Random) -> Iterator[bytes]:
    offset = rng.choice([0, 5, 1 << 40])
    most_headers = rng.choice([0, 0, 3, 100])
    for _ in range(rng.randint(1, 6)):
        records = []
        for _ in range(rng.choice([1, 2, 30])):
            time = T0_MS + rng.choice([0, 1, -70, 9000, 1 << 33, -(1 << 36)])
            headers = some_headers(rng, most_headers)
            records.append(Record(offset, time, some_bytes(rng), some_bytes(rng), headers))
            offset += rng.choice([1, 1, 1, 7, 300])
        append_time = rng.choice([None, None, T0_MS + 5])
        codec = rng.choice(list(Codec))
        yield bytes(build_batch(records, codec=codec, log_append_time_ms=append_time))


@pytest.mark.parametrize("seed", range(60))
def test_arrays_read_what_decoding_reads(seed: int, tmp_path: Path) -> None:
    data = b"".join(some_batches(random.Random(seed)))
    base = next(walk(data)).base_offset
    write_segment(tmp_path / "t-0", base, data)
    found = [as_record(row) for row in rows(tmp_path, includeHeaders="true")]
    assert found == without_sequence(data)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_old_formats_lie_among_new_ones(magic: int, codec: Codec, tmp_path: Path) -> None:
    old = [Record(3, T0_MS, b"k", None), Record(4, T0_MS + 1, None, b""), Record(5, 7, b"", b"v")]
    messages = bytes(build_message_set(old, magic, codec=codec))
    data = a_batch(0) + messages + a_batch(6, codec=codec)
    write_segment(tmp_path / "t-0", 0, data)
    assert [as_record(row) for row in rows(tmp_path, includeHeaders="true")] == list(
        without_sequence(data)
    )


def test_a_chunk_ends_inside_a_batch(tmp_path: Path) -> None:
    records = [Record(n, T0_MS, b"k", bytes(700_000)) for n in range(12)]
    batches = [bytes(build_batch(records[n : n + 3])) for n in range(0, 12, 3)]
    write_segment(tmp_path / "t-0", 0, *batches)
    assert offsets(tmp_path) == list(range(12))


def with_right_checksum(batch: bytearray) -> bytes:
    batch[V2_CRC_POSITION : V2_CRC_POSITION + 4] = crc32c(bytes(batch[21:])).to_bytes(4)
    return bytes(batch)


@pytest.mark.parametrize("value", [0x01, 0x7F, 0x80, 0xFF])
def test_a_malformed_record_is_said_and_its_neighbours_are_read(value: int, tmp_path: Path) -> None:
    """Bytes that only their producer can have made so: the checksum is right. The batches beside
    it in the same buffer are whole, and are read where damage is passed over."""
    headers = (("key", b"value"),)
    batch = build_batch([Record(n, T0_MS + n, b"key", b"value", headers) for n in range(3, 6)])
    good = without_sequence(a_batch(0)) + without_sequence(a_batch(6))
    for position in range(V2_HEADER_BYTES, V2_HEADER_BYTES + 30):
        changed = bytearray(batch)
        changed[position] = value
        bad = with_right_checksum(changed)
        write_segment(tmp_path / "t-0", 0, a_batch(0), bad, a_batch(6))
        wanted = decoded_or_nothing(bad)
        if not wanted:
            with pytest.raises(DamagedSegment, match=f"at position {len(a_batch(0))}"):
                rows(tmp_path, includeHeaders="true")
        found = rows(tmp_path, includeHeaders="true", failOnDataLoss="false")
        assert [as_record(row) for row in found] == good[:3] + wanted + good[3:], position


def decoded_or_nothing(batch: bytes) -> list[Record]:
    try:
        decoded = without_sequence(batch)
    except CorruptBatch:
        return []
    return decoded if all(3 <= record.offset < 6 for record in decoded) else []


def test_a_time_beyond_spark_s_is_said(tmp_path: Path) -> None:
    records = [Record(3, 1 << 60, b"k", b"v")]
    write_segment(tmp_path / "t-0", 0, a_batch(0), bytes(build_batch(records)), a_batch(4))
    with pytest.raises(DamagedSegment, match="timestamp does not fit"):
        rows(tmp_path)
    assert offsets(tmp_path, failOnDataLoss="false") == [0, 1, 2, 4, 5, 6]


def test_a_header_key_that_is_no_utf_8_is_read_as_java_reads_it(tmp_path: Path) -> None:
    records = [Record(0, T0_MS, None, b"v", (("k\udcff", b"1"), ("é", None)))]
    write_segment(tmp_path / "t-0", 0, bytes(build_batch(records)))
    (row,) = rows(tmp_path, includeHeaders="true")
    assert row["headers"] == [{"key": "k\ufffd", "value": b"1"}, {"key": "é", "value": None}]
