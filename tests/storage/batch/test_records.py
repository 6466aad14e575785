"""Records inside format 2 batches: round trips, limits, damage."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import parse_header
from barnabas.storage.batch.records import (
    Headers,
    Record,
    append_record,
    decode_batch,
    decode_headers,
    records_data,
    walk_frames,
)
from barnabas.storage.errors import CorruptBatch, StorageError

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=20), BYTES), max_size=4).map(tuple)


@st.composite
def batches(draw: st.DrawFn) -> list[Record]:
    base_offset = draw(st.integers(0, 1 << 62))
    base_time = draw(st.integers(-1, 1 << 45))
    steps = draw(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=20))
    offsets = [base_offset + sum(steps[:i]) for i in range(len(steps))]
    times = st.integers(-1, 1 << 45) | st.just(base_time)
    return [
        Record(offset, draw(times), draw(BYTES), draw(BYTES), draw(HEADERS)) for offset in offsets
    ]


@given(records=batches(), codec=st.sampled_from(list(Codec)))
@example(records=[Record(0, 0, b"", b"x" * 70_000, (("", b""),))], codec=Codec.SNAPPY)
@example(records=[Record(0, 0, None, b"x" * 200_000)], codec=Codec.LZ4)
def test_round_trip(records: list[Record], codec: Codec) -> None:
    batch = build_batch(records, codec=codec)
    assert list(decode_batch(batch, parse_header(batch))) == records


def test_sequences_follow_offsets_and_wrap() -> None:
    records = [Record(10, 0, None, b""), Record(12, 0, None, b""), Record(13, 0, None, b"")]
    batch = build_batch(records, producer_id=1, producer_epoch=0, base_sequence=0x7FFFFFFE)
    decoded = list(decode_batch(batch, parse_header(batch)))
    assert [record.sequence for record in decoded] == [0x7FFFFFFE, 0, 1]


def test_header_keys_that_are_not_utf_8_survive() -> None:
    data = bytearray()
    append_record(data, 0, 0, None, None, [("\udcff\udc80x", b"v")])
    frame = next(walk_frames(bytes(data), 1))
    assert b"\xff\x80x" in data
    headers = decode_headers(bytes(data), frame[8], frame[1])
    again = bytearray()
    append_record(again, 0, 0, None, None, headers)
    assert again == data


@given(st.lists(st.tuples(BYTES, BYTES, HEADERS), min_size=1, max_size=5))
def test_frames_point_at_keys_and_values(
    parts: list[tuple[bytes | None, bytes | None, Headers]],
) -> None:
    data = bytearray()
    for index, (key, value, headers) in enumerate(parts):
        append_record(data, index, index * 1000, key, value, headers)
    plain = bytes(data)
    frames = list(walk_frames(plain, len(parts)))
    assert [frame[1] for frame in frames][-1] == len(plain)
    for index, (frame, (key, value, headers)) in enumerate(zip(frames, parts, strict=True)):
        _, end, timestamp_delta, offset_delta, key_at, key_length, at, length, headers_at = frame
        assert (timestamp_delta, offset_delta) == (index * 1000, index)
        assert key == (None if key_length < 0 else plain[key_at : key_at + key_length])
        assert value == (None if length < 0 else plain[at : at + length])
        assert decode_headers(plain, headers_at, end) == headers


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x0c",
        bytes.fromhex("0c00000001010002"),  # a byte more than the length says
        bytes.fromhex("0e000000010100"),  # a byte less
        bytes.fromhex("0c000000010102"),  # a header that is not there
        bytes.fromhex("0c000000010101"),  # header count -1
        bytes.fromhex("0c0000000c0100"),  # key longer than the record
        bytes.fromhex("01000000010100"),  # length -1
        bytes.fromhex("ffffffffff7f"),  # length without end
        bytes.fromhex("1000000001010201" "01"),  # header key length -1
        bytes.fromhex("2000ffffffffffffffffff0100010100"),  # delta beyond any timestamp
    ],
)  # fmt: skip
def test_malformed_records(data: bytes) -> None:
    batch = build_batch([Record(0, (1 << 62) * 2 - 1, None, None)])
    header = parse_header(batch)
    header.size_bytes = 61 + len(data)
    with pytest.raises(CorruptBatch):
        list(decode_batch(bytes(batch[:61]) + data, header))


def test_any_negative_length_is_null_as_in_kafka() -> None:
    batch = build_batch([Record(0, 0, None, None)])
    assert bytes(batch[61:]).hex() == "0c000000010100"
    header = parse_header(batch)
    for data in ("0c000000030100", "0c000000010300"):
        [record] = decode_batch(bytes(batch[:61]) + bytes.fromhex(data), header)
        assert (record.key, record.value) == (None, None)


@given(st.binary(max_size=120), st.integers(0, 5), st.sampled_from(list(Codec)))
def test_random_bytes_raise_only_storage_errors(data: bytes, count: int, codec: Codec) -> None:
    batch = build_batch([Record(3, 3, None, None)])
    header = parse_header(batch)
    header.attributes, header.record_count = codec, count
    header.size_bytes = 61 + len(data)
    try:
        list(decode_batch(bytes(batch[:61]) + data, header))
    except StorageError as error:
        assert error.offset == 3


@given(INT64)
def test_uncompressed_data_is_a_copy_of_the_batch(timestamp: int) -> None:
    batch = build_batch([Record(0, timestamp, b"key", b"value")])
    assert records_data(batch, parse_header(batch)) == bytes(batch[61:])
