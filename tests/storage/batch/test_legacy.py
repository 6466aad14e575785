"""Message sets of formats 0 and 1: the bytes Kafka wrote, round trips, odd wrappers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.compression import Codec, compress
from barnabas.storage.batch.header import MAGIC_V2, crc_is_valid, parse_header, walk
from barnabas.storage.batch.legacy import (
    append_message,
    build_message_set,
    inner_messages,
    key_and_value,
    stamp_legacy,
)
from barnabas.storage.batch.records import Record, decode_all, decode_batch
from barnabas.storage.errors import CorruptBatch, StorageError
from tests.storage.golden_batches import golden_logs

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
BYTES = st.none() | st.binary(max_size=100)


def records(count: int = 3) -> list[Record]:
    return [Record(70 + i, 1000 - i, b"k%d" % i, b"v%d" % i) for i in range(count)]


def test_rebuilt_messages_equal_kafkas() -> None:
    compared = set()
    for path, data in golden_logs("3.9.1", "legacy-formats").files.items():
        for header in walk(data):
            if header.magic == MAGIC_V2:
                continue
            original = data[header.position : header.end]
            sent = list(decode_batch(data, header))
            rebuilt = bytes(build_message_set(sent, header.magic, codec=header.codec))
            again = parse_header(rebuilt)
            if header.codec == Codec.NONE:
                assert rebuilt == original
            else:
                assert inner_messages(rebuilt, again) == inner_messages(data, header)
                assert original[:8] + original[16:18] == rebuilt[:8] + rebuilt[16:18]
                assert again.base_timestamp == header.base_timestamp
            if header.codec == Codec.LZ4:
                assert lz4_header(rebuilt) == lz4_header(original)
            compared.add((path.split("/")[0], header.magic, header.codec))
    assert {(magic, codec) for _, magic, codec in compared} == {
        (magic, codec) for magic in (0, 1) for codec in CODECS
    }


def lz4_header(message: bytes) -> bytes:
    _, value = key_and_value(message, parse_header(message))
    assert value is not None
    return bytes(value[:7])


@given(
    parts=st.lists(st.tuples(st.integers(0, 1 << 40), BYTES, BYTES), min_size=1, max_size=8),
    first_offset=st.integers(0, 1 << 40),
    magic=st.sampled_from([0, 1]),
    codec=st.sampled_from(CODECS),
)
def test_round_trip(
    parts: list[tuple[int, bytes | None, bytes | None]], first_offset: int, magic: int, codec: Codec
) -> None:
    sent = [
        Record(first_offset + i, timestamp if magic else -1, key, value)
        for i, (timestamp, key, value) in enumerate(parts)
    ]
    built = build_message_set(sent, magic, codec=codec)
    assert list(decode_all(built)) == sent
    assert all(crc_is_valid(built, header) for header in walk(built))


def test_wrapper_carries_last_offset_and_greatest_timestamp() -> None:
    for magic, inner_offsets, timestamp in ((0, [70, 71, 72], -1), (1, [0, 1, 2], 1000)):
        built = build_message_set(records(), magic, codec=Codec.GZIP)
        header = parse_header(built)
        assert (header.last_offset, header.max_timestamp) == (72, timestamp)
        _, inner = inner_messages(built, header)
        assert [message.base_offset for message in inner] == inner_offsets


def test_log_append_time_of_the_wrapper_counts_for_all() -> None:
    built = build_message_set(records(), 1, codec=Codec.LZ4, log_append_time_ms=5)
    assert parse_header(built).is_log_append_time
    assert {record.timestamp for record in decode_all(built)} == {5}
    plain = build_message_set(records(), 1, log_append_time_ms=5)
    assert all(header.is_log_append_time for header in walk(plain))
    assert {record.timestamp for record in decode_all(plain)} == {5}


def test_no_records_no_bytes() -> None:
    assert build_message_set([], 1, codec=Codec.GZIP) == b""


def test_stamping_in_place() -> None:
    for codec in CODECS:
        built = build_message_set(records(1), 1, codec=codec)
        header = parse_header(built)
        stamp_legacy(built, header, 500, max_timestamp=9, log_append_time=True)
        assert parse_header(built) == header
        assert crc_is_valid(built, header)
        assert [(r.offset, r.timestamp) for r in decode_all(built)] == [(500, 9)]


def wrapper(
    inner: bytes | bytearray, *, magic: int = 1, offset: int = 9, codec: int = Codec.GZIP
) -> bytes:
    out = bytearray()
    append_message(out, magic, offset, 0, None, compress(codec, inner), codec)
    return bytes(out)


def test_odd_wrappers_are_corrupt() -> None:
    plain = build_message_set([Record(20, 0, b"k", b"v")], 1)
    nested = build_message_set([Record(0, 0, b"k", b"v")], 1, codec=Codec.GZIP)
    no_value = bytearray()
    append_message(no_value, 1, 0, 0, b"k", None, Codec.GZIP)
    for odd in (
        wrapper(plain),  # inner offset above the wrapper's
        wrapper(nested),
        wrapper(b""),
        wrapper(plain, codec=Codec.ZSTD),
        bytes(no_value),
    ):
        with pytest.raises(CorruptBatch):
            list(decode_all(odd))


def test_an_inner_message_cut_short_is_left_out() -> None:
    inner = build_message_set(records(2), 1)[:-1]
    assert [record.key for record in decode_all(wrapper(inner, offset=70))] == [b"k0"]


@given(st.binary(max_size=80), st.sampled_from([0, 1]), st.sampled_from([0, 1, 2, 3, 4, 5]))
def test_random_bytes_raise_only_storage_errors(data: bytes, magic: int, codec: int) -> None:
    out = bytearray()
    append_message(out, magic, 1, 1, None, data, codec)
    for damaged in (bytes(out), bytes(out[:18]) + data):
        try:
            list(decode_all(damaged))
        except StorageError:
            pass
