from pathlib import Path

import pytest

from barnabas.storage.batch.header import walk
from barnabas.storage.errors import CorruptBatch, OffsetOutOfRange
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound

from ..logs import (
    a_batch,
    append,
    delete_due_files,
    end_transaction,
    file_name,
    fill,
    open_log,
    read_all,
)

SIZE = len(a_batch(2))


def filled(folder: Path, **settings: object) -> Log:
    """Ten batches of two records in segments of three batches."""
    log = open_log(folder, segment_bytes=3 * SIZE, **settings)
    fill(log, 10, 2)
    assert log.segments.base_offsets == [0, 6, 12, 18]
    return log


def read(log: Log, offset: int, max_bytes: int, **bounds: object) -> tuple[int, int]:
    """First offset and number of bytes of what a read finds, (-1, 0) for nothing."""
    records = log.read(offset, max_bytes, **bounds).records  # type: ignore[arg-type]
    if records is None:
        return -1, 0
    data = records.read()
    assert len(data) == len(records)
    return next(walk(data, partial_tail=True)).base_offset, len(data)


def test_a_read_starts_with_the_batch_that_holds_the_offset(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for offset in range(20):
        assert read(log, offset, 1) == (offset - offset % 2, SIZE)


def test_how_much_is_read(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert read(log, 0, SIZE + 10) == (0, SIZE + 10)
    assert read(log, 0, SIZE - 1) == (0, SIZE)
    assert log.read(0, 0, min_one_message=False).records is None


@pytest.mark.parametrize("bound", ReadBound)
def test_a_read_says_if_it_ends_in_its_first_batch(tmp_path: Path, bound: ReadBound) -> None:
    log = filled(tmp_path)
    for max_bytes in (1, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE, 100_000):
        hard = log.read(2, max_bytes, bound=bound, min_one_message=False)
        assert hard.records is not None and hard.records.size == min(max_bytes, 2 * SIZE)
        assert hard.first_entry_incomplete == (max_bytes < SIZE)
        assert not log.read(2, max_bytes, bound=bound).first_entry_incomplete


def test_a_slice_ends_with_its_segment(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert read(log, 2, 100_000) == (2, 2 * SIZE)
    assert read(log, 6, 100_000) == (6, 3 * SIZE)
    assert read(log, 18, 100_000) == (18, SIZE)


@pytest.mark.parametrize("high_watermark", range(21))
def test_nothing_above_the_bound_is_seen(tmp_path: Path, high_watermark: int) -> None:
    log = filled(tmp_path)
    log.offsets.high_watermark = high_watermark
    for offset in range(0, 20, 2):
        end = min(offset // 6 * 6 + 6, 20, high_watermark - high_watermark % 2)
        size = max(end - offset, 0) // 2 * SIZE
        assert read(log, offset, 100_000) == ((offset, size) if size else (-1, 0))
        assert read(log, offset, 1, bound=ReadBound.LOG_END) == (offset, SIZE)


def test_outside_of_the_log(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.maybe_increment_log_start_offset(7)
    for offset in (-1, 0, 6, 21):
        with pytest.raises(OffsetOutOfRange) as raised:
            log.read(offset, 100)
        assert raised.value.offset == offset
    assert read(log, 7, 1) == (6, SIZE)
    assert read(log, 20, 1) == (-1, 0)


def test_a_slice_can_be_read_when_its_segment_is_gone(tmp_path: Path) -> None:
    log = filled(tmp_path, file_delete_delay_ms=0)
    records = log.read(0, 100_000).records
    wanted = b"".join(data for _, data in read_all(log))[: 3 * SIZE]
    log.delete_old_segments(2, 0)
    delete_due_files(log, 0)
    log.close()
    assert records is not None and records.read() == wanted


def transactional(folder: Path) -> Log:
    """Producers 1 and 2 take turns; 1 aborts, 2 commits, 1 stays open at the end."""
    log = open_log(folder, segment_bytes=3 * SIZE)
    for number in range(2):
        for producer_id in (1, 2):
            batch = a_batch(2, producer_id=producer_id, sequence=2 * number, transactional=True)
            append(log, batch)
    end_transaction(log, 1, commit=False)
    end_transaction(log, 2, commit=True)
    append(log, a_batch(2, producer_id=1, sequence=4, transactional=True))
    append(log, a_batch(2))
    return log


def test_a_committed_read_knows_what_was_aborted(tmp_path: Path) -> None:
    log = transactional(tmp_path)
    assert (log.log_end_offset, log.last_stable_offset) == (14, 10)
    for offset in range(9):
        result = log.read(offset, 10_000, bound=ReadBound.LAST_STABLE)
        assert result.aborted_transactions == [(1, 0)]
    result = log.read(9, 10_000, bound=ReadBound.LAST_STABLE)
    assert result.records is not None and result.aborted_transactions == []
    result = log.read(10, 10_000, bound=ReadBound.LAST_STABLE)
    assert (result.records, result.aborted_transactions) == (None, [])
    assert log.read(0, 10_000).aborted_transactions is None


def test_an_index_that_misleads_is_made_anew(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.close()
    path = tmp_path / "t-0" / file_name(6, "index")
    good = path.read_bytes()
    for position in range(len(good)):
        damaged = bytearray(good)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        log = open_log(tmp_path, segment_bytes=3 * SIZE)
        assert [read(log, offset, 1) for offset in (6, 8, 10)] == [
            (6, SIZE), (8, SIZE), (10, SIZE)
        ]  # fmt: skip
        log.close()
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    path.unlink()
    assert read(log, 10, 1) == (10, SIZE)


def test_bytes_that_are_no_batch_are_an_error(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.close()
    path = tmp_path / "t-0" / file_name(6, "log")
    data = bytearray(path.read_bytes())
    data[SIZE : 2 * SIZE] = b"\0" * SIZE
    path.write_bytes(data)
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    assert read(log, 6, 1) == (6, SIZE)
    for _ in range(2):
        with pytest.raises(CorruptBatch):
            log.read(8, 1)
    assert read(log, 18, 1) == (18, SIZE)
