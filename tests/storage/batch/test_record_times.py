"""The walk over records for their largest timestamp, held against decoding them."""

import random

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import V2_HEADER_BYTES, parse_header
from barnabas.storage.batch.record_times import (
    COMPRESSED_LIMIT_BYTES,
    UNKNOWN_TIMESTAMP,
    largest_delta,
    largest_timestamp,
)
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.batch.varint import append_varint

from ..logs import NOW_MS

DELTAS = [0, 1, 63, 64, -64, -65, 8191, 8192, 1 << 20, 1 << 34, -(1 << 41), 1 << 55, -(1 << 60)]


def batch_of(timestamps: list[int], sizes: list[int], codec: int = 0) -> bytearray:
    return build_batch(
        [
            Record(index, timestamp, None, bytes(size))
            for index, (timestamp, size) in enumerate(zip(timestamps, sizes, strict=True))
        ],
        codec=codec,
    )


def found_in(batch: bytearray | memoryview, **limits: int) -> int:
    header = parse_header(batch)
    stated = header.max_timestamp
    return largest_timestamp(
        batch, header.codec, header.record_count, header.base_timestamp, stated, **limits
    )


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_what_decoding_finds(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice([1, 2, 7, 100, 700])
    sizes = [rng.choice([0, 3, 50, 60, 200, 4080, 4096, 9000]) for _ in range(count)]
    base = rng.choice([0, NOW_MS])
    timestamps = [base] + [base + rng.choice(DELTAS[: rng.randint(1, 13)]) for _ in sizes[1:]]
    batch = batch_of(timestamps, sizes, rng.choice([0, 0, *Codec]))
    decoded = max(record.timestamp for record in decode_batch(batch, parse_header(batch)))
    assert found_in(memoryview(batch), limit_bytes=1 << 30) == max(decoded, -1)


def test_records_cut_anywhere_are_not_walked_to_an_end() -> None:
    timestamps = [NOW_MS, NOW_MS + 90, NOW_MS + (1 << 40)]
    records = memoryview(batch_of(timestamps, [5, 300, 0]))[V2_HEADER_BYTES:]
    assert largest_delta(records, 3) == 1 << 40
    for size in range(len(records)):
        assert largest_delta(records[:size], 3) == UNKNOWN_TIMESTAMP
    assert largest_delta(memoryview(bytes(records) + b"\0"), 3) == UNKNOWN_TIMESTAMP


@pytest.mark.parametrize("count", [0, 1, 3, 4, (1 << 31) - 1])
def test_a_count_that_is_not_that_of_the_records(count: int) -> None:
    records = memoryview(batch_of([NOW_MS, NOW_MS + 1], [5, 5]))[V2_HEADER_BYTES:]
    assert largest_delta(records, count) == UNKNOWN_TIMESTAMP


@pytest.mark.parametrize("length", [-1, -(1 << 31), 0, 1, 2, 1 << 20, (1 << 31) - 1, 1 << 34])
def test_lengths_that_cannot_be(length: int) -> None:
    record = bytearray()
    append_varint(record, length)
    assert largest_delta(memoryview(bytes(record) + b"\0\0\0\1\1\0"), 1) == UNKNOWN_TIMESTAMP


def test_numbers_that_do_not_end() -> None:
    for body in (b"\xff" * 11, b"\x20\0" + b"\xff" * 14, b"\x20\0" + b"\x80" * 9 + b"\1\0\0\0\0\0"):
        assert largest_delta(memoryview(body + bytes(16 - len(body) % 16)), 1) == UNKNOWN_TIMESTAMP


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_compressed_records_are_decompressed_up_to_a_bound(codec: Codec) -> None:
    timestamps = [NOW_MS, NOW_MS + 7]
    small = batch_of(timestamps, [10, COMPRESSED_LIMIT_BYTES - 100], codec)
    large = batch_of(timestamps, [10, COMPRESSED_LIMIT_BYTES], codec)
    for batch, stated in ((small, NOW_MS + 7), (large, NOW_MS + 3)):
        header = parse_header(batch)
        assert largest_timestamp(batch, codec, 2, header.base_timestamp, NOW_MS + 3) == stated
    assert largest_timestamp(large, codec, 2, NOW_MS, NOW_MS - 1) == UNKNOWN_TIMESTAMP
    torn = bytearray(small)[:-9]
    assert largest_timestamp(torn, codec, 2, NOW_MS, NOW_MS) == UNKNOWN_TIMESTAMP


def test_timestamps_that_leave_64_bits() -> None:
    batch = batch_of([NOW_MS, NOW_MS], [1, 1])
    assert largest_timestamp(batch, 0, 2, -2, NOW_MS) == UNKNOWN_TIMESTAMP
    assert largest_timestamp(batch, 0, 2, -1, NOW_MS) == -1
