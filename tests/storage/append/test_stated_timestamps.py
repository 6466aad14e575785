"""A batch's header may state any largest timestamp; what is stored is that of its records.

Sarama left it at -1 for years. A header that is believed gives wrong offsets by time, segments
that roll early, and segments that retention never deletes.
"""

import struct
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import BatchHeader, crc_is_valid
from barnabas.storage.batch.record_times import BELIEVED_AHEAD_MS, COMPRESSED_LIMIT_BYTES
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import InvalidRecord, InvalidTimestamp
from barnabas.storage.log.log import Log
from barnabas.storage.log.offset_lookup import TimestampedOffset
from barnabas.storage.manager.retention import count_expired

from ..logs import NOW_MS, append, open_log, read_all

LIES = [-1, 0, -(1 << 63), (1 << 63) - 1, NOW_MS - 1, NOW_MS + 1, NOW_MS + 50, NOW_MS + (1 << 40)]
TIMES = (NOW_MS, NOW_MS + 20, NOW_MS + 10)
COUNT, LARGEST = len(TIMES), max(TIMES)
ENOUGH = {"segment_bytes": 1 << 20, "max_message_bytes": 1 << 20}


def stating(
    stated: int,
    codec: int = 0,
    *,
    times: tuple[int, ...] = TIMES,
    size: int = 5,
    producer: int = -1,
) -> bytearray:
    """A batch whose records have these times and whose header states another largest."""
    batch = build_batch(
        [Record(n, time_ms, b"key", bytes(size)) for n, time_ms in enumerate(times)],
        codec=codec,
        producer_id=producer,
        producer_epoch=min(producer, 0),
        base_sequence=min(producer, 0),
    )
    struct.pack_into(">q", batch, 35, stated)
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return batch


def only_batch(log: Log) -> BatchHeader:
    ((header, data),) = read_all(log)
    assert crc_is_valid(data, header)
    return header


@pytest.mark.parametrize("producer", [-1, 7])
@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("stated", LIES)
def test_what_is_stored_is_true(tmp_path: Path, stated: int, codec: Codec, producer: int) -> None:
    log = open_log(tmp_path)
    info = append(log, stating(stated, codec, producer=producer))
    assert info.max_timestamp == LARGEST
    assert only_batch(log).max_timestamp == LARGEST


@pytest.mark.parametrize("stated", LIES)
def test_offsets_by_time_are_right(tmp_path: Path, stated: int) -> None:
    log = open_log(tmp_path)
    append(log, stating(stated))
    log.roll(NOW_MS)
    append(log, stating(NOW_MS + 1000, times=(NOW_MS + 1000,)))
    assert log.lookup.by_timestamp(NOW_MS + 5) == TimestampedOffset(1, NOW_MS + 20, 0)
    assert log.lookup.by_timestamp(NOW_MS + 21) == TimestampedOffset(COUNT, NOW_MS + 1000, 0)
    assert log.lookup.by_timestamp(NOW_MS + 1001) is None
    assert log.lookup.of_max_timestamp() == TimestampedOffset(COUNT, NOW_MS + 1000, 0)


@pytest.mark.parametrize("stated", LIES)
def test_a_segment_rolls_in_its_time(tmp_path: Path, stated: int) -> None:
    log = open_log(tmp_path, segment_ms=100)
    for _ in range(3):
        append(log, stating(stated))
    assert len(log.segments) == 1
    append(log, stating(stated, times=(NOW_MS, LARGEST + 101)))
    assert len(log.segments) == 2


@pytest.mark.parametrize("stated", LIES)
def test_retention_counts_from_the_records(tmp_path: Path, stated: int) -> None:
    log = open_log(tmp_path)
    append(log, stating(stated))
    log.roll(NOW_MS)
    ages = [segment.largest_timestamp()[0] for segment in log.segments][:1]
    assert count_expired(ages, 500, LARGEST + 500) == 0
    assert count_expired(ages, 500, LARGEST + 501) == 1


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("stated", [NOW_MS, NOW_MS + 300])
def test_a_record_that_is_too_late_is_refused_whatever_the_header_states(
    tmp_path: Path, stated: int, codec: Codec
) -> None:
    log = open_log(tmp_path, message_timestamp_after_max_ms=15)
    with pytest.raises(InvalidTimestamp) as caught:
        append(log, stating(stated, codec))
    assert [index for index, _ in caught.value.record_errors] == [1]
    assert append(log, stating(stated, codec, times=(NOW_MS + 15,))).first_offset == 0


@pytest.mark.parametrize("time_ms", [(1 << 63) - 1, -(1 << 62), -2])
def test_times_at_the_ends_of_64_bits(tmp_path: Path, time_ms: int) -> None:
    log = open_log(tmp_path)
    append(log, stating(time_ms, times=(time_ms,)))
    assert only_batch(log).max_timestamp == max(time_ms, -1)


def test_records_whose_times_leave_64_bits_are_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for base, delta in (((1 << 63) - 10, 20), (-(1 << 63) + 10, -20)):
        batch = stating(NOW_MS, times=(0, delta))
        struct.pack_into(">q", batch, 27, base)
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
        with pytest.raises(InvalidTimestamp):
            append(log, batch)
    assert log.log_end_offset == 0


@pytest.mark.parametrize("codec", list(Codec))
def test_records_that_do_not_fill_their_batch_are_refused(tmp_path: Path, codec: Codec) -> None:
    log = open_log(tmp_path)
    for wrong in (COUNT - 1, COUNT + 1):
        batch = stating(LARGEST, codec)
        struct.pack_into(">i", batch, 23, wrong - 1)
        struct.pack_into(">i", batch, 57, wrong)
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
        with pytest.raises(InvalidRecord):
            append(log, batch)
    assert log.log_end_offset == 0


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize(
    ("stated", "stored"),
    [(-1, LARGEST), (NOW_MS - 1, LARGEST), (NOW_MS + BELIEVED_AHEAD_MS + 1, LARGEST),
     (NOW_MS, NOW_MS), (NOW_MS + 50, NOW_MS + 50)],
)  # fmt: skip
def test_of_large_compressed_batches_a_believable_header_is_believed(
    tmp_path: Path, stated: int, stored: int, codec: Codec
) -> None:
    log = open_log(tmp_path, **ENOUGH)
    append(log, stating(stated, codec, size=COMPRESSED_LIMIT_BYTES))
    assert only_batch(log).max_timestamp == stored


def test_one_that_is_honest_is_stored_byte_for_byte(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    batch = stating(LARGEST)
    sent = bytes(batch)
    append(log, batch)
    ((_, data),) = read_all(log)
    assert data[17:] == sent[17:]
