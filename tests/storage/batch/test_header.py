"""Walking, verifying and stamping batches in place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import (
    HEADER,
    LOG_APPEND_TIME,
    BatchHeader,
    crc_is_valid,
    parse_header,
    stamp,
    walk,
)
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import CorruptBatch, StorageError, UnsupportedMagic

RECORDS = [Record(5, 50, b"k", b"v"), Record(6, 40, None, None)]
BATCH = bytes(build_batch(RECORDS, leader_epoch=2))
MESSAGES = bytes(build_message_set(RECORDS, 0) + build_message_set(RECORDS, 1))


def test_header_fields() -> None:
    batch = build_batch(
        RECORDS, codec=4, leader_epoch=2, producer_id=9, producer_epoch=3, base_sequence=7,
        is_transactional=True,
    )  # fmt: skip
    header = parse_header(b"ab" + bytes(batch), 2)
    assert (header.position, header.base_offset, header.end) == (2, 5, 2 + len(batch))
    assert (header.last_offset, header.next_offset, header.last_sequence) == (6, 7, 8)
    assert (header.codec, header.is_transactional, header.is_control) == (4, True, False)
    assert (header.base_timestamp, header.max_timestamp) == (50, 50)
    assert header.has_producer_id
    assert header.delete_horizon_ms is None


def test_sequences_wrap_to_0() -> None:
    batch = build_batch(RECORDS, producer_id=1, producer_epoch=0, base_sequence=0x7FFFFFFF)
    assert parse_header(batch).last_sequence == 0
    assert parse_header(BATCH).last_sequence == -1


def test_old_messages_walk_as_batches_of_one() -> None:
    headers = list(walk(MESSAGES))
    assert [h.magic for h in headers] == [0, 0, 1, 1]
    assert [h.last_offset for h in headers] == [5, 6, 5, 6]
    assert [h.max_timestamp for h in headers] == [-1, -1, 50, 40]
    assert not any(h.has_producer_id or h.is_control or h.is_transactional for h in headers)
    assert all(crc_is_valid(MESSAGES, h) for h in headers)


def test_walk_within_bounds() -> None:
    data = BATCH + MESSAGES + BATCH
    assert len(list(walk(data))) == 6
    assert [h.magic for h in walk(data, len(BATCH), len(data) - len(BATCH))] == [0, 0, 1, 1]
    assert [h.position for h in walk(memoryview(data), len(data) - len(BATCH))] == [
        len(data) - len(BATCH)
    ]


@pytest.mark.parametrize("data", [BATCH, MESSAGES], ids=["format 2", "formats 0 and 1"])
def test_every_cut_is_corrupt_or_a_partial_tail(data: bytes) -> None:
    whole = list(walk(data))
    for length in range(len(data)):
        expected = [header for header in whole if header.end <= length]
        assert list(walk(data[:length], partial_tail=True)) == expected
        if length not in (0, *(header.end for header in whole)):
            with pytest.raises(CorruptBatch):
                list(walk(data[:length]))


def test_impossible_lengths_are_corrupt_even_at_the_tail() -> None:
    for size in (-1, 0, 13):
        with pytest.raises(CorruptBatch):
            list(walk(bytes(8) + size.to_bytes(4, "big", signed=True) + bytes(100)))
    short = bytearray(BATCH)
    short[8:12] = (48).to_bytes(4, "big")
    with pytest.raises(CorruptBatch):
        list(walk(short, partial_tail=True))


def test_unknown_magic_names_the_offset() -> None:
    batch = bytearray(BATCH)
    batch[16] = 3
    with pytest.raises(UnsupportedMagic, match="offset 5: unknown message format 3"):
        parse_header(batch)


def test_negative_counts_are_corrupt() -> None:
    for place in (23, 57):
        batch = bytearray(BATCH)
        batch[place : place + 4] = b"\xff" * 4
        with pytest.raises(CorruptBatch, match="negative"):
            parse_header(batch)


@pytest.mark.parametrize("data", [BATCH, MESSAGES], ids=["format 2", "format 0"])
def test_each_flipped_bit_breaks_the_crc_or_the_walk(data: bytes) -> None:
    uncovered = {*range(8), 12, 13, 14, 15} if data is BATCH else {*range(8)}
    first = next(walk(data))
    for place in set(range(8, first.size_bytes)) - uncovered:
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        try:
            assert not crc_is_valid(damaged, next(walk(damaged)))
        except CorruptBatch:
            pass


def test_stamping_keeps_the_crc() -> None:
    batch = bytearray(BATCH)
    header = parse_header(batch)
    stamp(batch, header, 1 << 40, 77)
    assert parse_header(batch) == header
    assert (header.base_offset, header.partition_leader_epoch) == (1 << 40, 77)
    assert header.crc == parse_header(BATCH).crc
    assert crc_is_valid(batch, header)


def test_stamping_a_timestamp_renews_the_crc() -> None:
    view = memoryview(bytearray(b"x" + BATCH))
    header = parse_header(view, 1)
    stamp(view, header, 0, 0, max_timestamp=99, log_append_time=True)
    assert parse_header(view, 1) == header
    assert (header.max_timestamp, header.attributes) == (99, LOG_APPEND_TIME)
    assert crc_is_valid(view, header)
    stamp(view, header, 0, 0, max_timestamp=50)
    assert bytes(view[1 + 16 :]) == BATCH[16:]


def test_header_layout() -> None:
    assert HEADER.size == 61
    fields = HEADER.unpack_from(BATCH)
    assert fields[0] == 5
    assert fields[3] == 2


@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_raise_only_storage_errors(data: bytes, partial_tail: bool) -> None:
    try:
        for header in walk(data, partial_tail=partial_tail):
            assert isinstance(header, BatchHeader)
            crc_is_valid(data, header)
    except StorageError:
        pass
