"""Few descriptors left: what cannot be carried through is not begun."""

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.storage.disk.open_files import FEWEST, RESERVE
from barnabas.storage.errors import TooManyOpenFiles
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound

from ..full_table import PLENTY, FullTable
from ..logs import NOW_MS, a_batch, append, config, end_transaction, file_name, offsets, read_all

ENOUGH = RESERVE + FEWEST
PRODUCER = 7


def opened(folder: Path, table: FullTable, *, clean: bool = True, segment_bytes: int = 700) -> Log:
    (folder / "t-0").mkdir(parents=True, exist_ok=True)
    settings = config(segment_bytes=segment_bytes, index_interval_bytes=0)
    directory = str(folder / "t-0")
    log = Log.open(directory, "t-0", settings, NOW_MS, fs=table.fs, clean_shutdown=clean)
    log.update_high_watermark(log.log_end_offset)
    return log


def filled(folder: Path, table: FullTable) -> Log:
    """Several segments and epochs; a transaction is open."""
    log = opened(folder, table)
    for number in range(30):
        append(log, a_batch(timestamp=NOW_MS + number, value=b"%d" % number), number // 10)
    append(log, a_batch(producer_id=PRODUCER, sequence=0, transactional=True), 3)
    close_files(log)
    return log


def close_files(log: Log) -> None:
    for segment in log.segments:
        segment.close()


def truncate(log: Log) -> None:
    log.truncate_to(12, NOW_MS)


def start_anew(log: Log) -> None:
    log.truncate_fully_and_start_at(50, NOW_MS)


def drop_oldest(log: Log) -> None:
    log.delete_old_segments(2, NOW_MS)


def drop_all(log: Log) -> None:
    log.delete_old_segments(len(log.segments), NOW_MS)


def roll(log: Log) -> None:
    log.roll(NOW_MS)


def abort(log: Log) -> None:
    end_transaction(log, PRODUCER, commit=False, leader_epoch=3)


def produce(log: Log) -> None:
    append(log, a_batch(value=b"v" * 500), 3)


OPERATIONS = [truncate, start_anew, drop_oldest, drop_all, roll, abort, produce]


def state(log: Log) -> object:
    """What clients and the log's owner see, and which segments there are."""
    start = log.log_start_offset
    aborted: object = None
    if start < log.last_stable_offset:
        found = log.read(start, 1 << 20, bound=ReadBound.LAST_STABLE)
        aborted = found.aborted_transactions
    return (
        start,
        log.high_watermark,
        log.last_stable_offset,
        log.log_end_offset,
        log.recovery_point,
        log.epochs.entries(),
        [(entry.producer_id, entry.last_sequence) for entry in log.producer_entries()],
        log.segments.base_offsets,
        log.active_segment is log.segments.last,
        [data for _, data in read_all(log)],
        aborted,
    )


def segments_on_disk(log: Log) -> list[str]:
    return sorted(path.name for path in Path(log.directory).glob("*.log"))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_done_with_few_descriptors_is_done_whole_or_not_at_all(
    tmp_path: Path, operation: Callable[[Log], object]
) -> None:
    expected = None
    refused = 0
    for left in (ENOUGH, RESERVE, *range(FEWEST)):
        table = FullTable()
        log = filled(tmp_path / str(left), table)
        before = state(log), segments_on_disk(log)
        close_files(log)
        table.left = left
        try:
            operation(log)
        except TooManyOpenFiles:
            refused += 1
            table.left = PLENTY
            assert (state(log), segments_on_disk(log)[: len(before[1])]) == before, left
            close_files(log)
            operation(log)
        table.left = PLENTY
        done = state(log), segments_on_disk(log)
        expected = expected or done
        assert done == expected, left
        log.flush()
        log.close_files()
        assert offsets(opened(tmp_path / str(left), table, clean=False)) == offsets(log)
        close_files(log)
    assert 0 < refused <= FEWEST


def test_an_index_that_cannot_be_written_now_stays_in_memory(tmp_path: Path) -> None:
    table = FullTable()
    log = opened(tmp_path, table, segment_bytes=1 << 20)
    for number in range(1_500):
        log.active_segment.offset_index.close()
        log.active_segment.time_index.close()
        table.left = 0 if number % 700 > 200 else PLENTY
        append(log, a_batch(timestamp=NOW_MS + number))
    table.left = PLENTY
    log.flush()
    assert log.log_end_offset == len(offsets(log)) == 1_500
    entries = log.active_segment.offset_index.entries()
    log.close()
    log = opened(tmp_path, table, segment_bytes=1 << 20)
    assert not log.load_report.notes
    assert log.active_segment.offset_index.entries()[: len(entries)] == entries
    found = log.lookup.by_timestamp(NOW_MS + 1_234)
    assert found is not None and found.offset == 1_234
    log.close()


@pytest.mark.parametrize("left", range(ENOUGH))
def test_a_bad_index_is_made_anew_when_there_are_descriptors_for_it(
    tmp_path: Path, left: int
) -> None:
    table = FullTable()
    filled(tmp_path, table).close()
    (tmp_path / "t-0" / file_name(0, "timeindex")).write_bytes(b"")
    log = opened(tmp_path, table)
    close_files(log)
    table.left = left
    for _ in range(2):
        try:
            found = log.lookup.by_timestamp(NOW_MS + 3)
        except TooManyOpenFiles:
            table.left = PLENTY
    assert found is not None and found.offset == 3
    assert log.segments.first.largest_timestamp() == (NOW_MS + 8, 8)
    log.close()
