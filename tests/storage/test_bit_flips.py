"""One bit of one file is wrong: it is cut off or made anew, never believed, and said so.

Not even a CRC covers everything: of a batch, the base offset and the leader epoch lie outside
of it, because brokers write them. There the log need only stay a log.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin

NOW_MS = 1_800_000_000_000
CONFIG = LogConfig(segment_bytes=900, index_interval_bytes=60)
UNCOVERED_BYTES = (range(0, 8), range(12, 16))


@dataclass
class Original:
    """A log as it was, and where it had been flushed to."""

    directory: Path
    batches: dict[int, tuple[str, BatchHeader]]
    """By base offset: the segment's file name and the header."""
    recovery_point: int
    end: int
    producers: dict[int, tuple[int, int]]
    aborted: list[tuple[int, int]]


def write_original(directory: Path, *, clean: bool) -> Original:
    """Producers, an aborted transaction, several segments; the second half is not flushed."""
    directory.mkdir()
    log = Log.open(str(directory), "t-0", CONFIG, NOW_MS)
    for number in range(24):
        records = [Record(n, NOW_MS + number * 10 + n, b"k", b"." * 40) for n in range(2)]
        identity = {"producer_id": 5 + number % 2, "producer_epoch": 0}
        sequence = number // 2 * 2
        batch = build_batch(
            records, base_sequence=sequence, is_transactional=number % 2 == 1, **identity
        )
        log.append_as_leader(batch, number // 10, NOW_MS)
        if number in (9, 19):
            marker = EndTransactionMarker(is_commit=False, coordinator_epoch=0)
            end = build_end_transaction_marker(
                marker, producer_id=6, producer_epoch=0, timestamp_ms=NOW_MS + number * 10 + 5
            )
            log.append_as_leader(end, number // 10, NOW_MS, origin=AppendOrigin.COORDINATOR)
        log.update_high_watermark(log.log_end_offset)
        if number == 12:
            log.flush()
    original = Original(
        directory,
        {},
        log.recovery_point,
        log.log_end_offset,
        producers_of(log),
        [],
    )
    original.aborted = sorted(aborted_of(log, 0, log.log_end_offset))
    if clean:
        log.close()
        original.recovery_point = log.log_end_offset
    else:
        log.flush(log.recovery_point)
        log.close_files()
    for path in directory.glob("*.log"):
        for header in walk(path.read_bytes()):
            original.batches[header.base_offset] = (path.name, header)
    return original


def producers_of(log: Log) -> dict[int, tuple[int, int]]:
    return {
        entry.producer_id: (entry.last_sequence, entry.epoch) for entry in log.producer_entries()
    }


def aborted_of(log: Log, start: int, end: int) -> set[tuple[int, int]]:
    found = set()
    offset = start
    while offset < min(end, log.last_stable_offset):
        result = log.read(offset, 1, bound=ReadBound.LAST_STABLE)
        assert result.records is not None and result.aborted_transactions is not None
        found |= set(result.aborted_transactions)
        (header,) = walk(result.records.read())
        offset = header.next_offset
    return found


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Original:
    return write_original(tmp_path_factory.mktemp("dirty") / "t-0", clean=False)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Original:
    return write_original(tmp_path_factory.mktemp("clean") / "t-0", clean=True)


def reopened(original: Original, directory: Path, *, was_clean: bool) -> Log:
    log = Log.open(
        str(directory),
        "t-0",
        CONFIG,
        NOW_MS,
        clean_shutdown=was_clean,
        recovery_point=original.recovery_point,
    )
    log.update_high_watermark(log.log_end_offset)
    return log


def flipped(original: Original, target: Path, name: str, position: int, bit: int) -> Path:
    """A copy of the log with one bit of one file the other way round."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(original.directory, target)
    data = bytearray((target / name).read_bytes())
    data[position] ^= 1 << bit
    (target / name).write_bytes(data)
    return target


def places(original: Original, pattern: str, step: int) -> Iterator[tuple[str, int, int]]:
    """Every `step`-th bit of the files that match: name, byte, bit."""
    for path in sorted(original.directory.glob(pattern)):
        for number in range(0, path.stat().st_size * 8, step):
            yield path.name, number // 8, number % 8


def assert_reads_are_right(log: Log, original: Original) -> None:
    """Every offset leads to its own batch, and every time to its own offset."""
    for offset in range(log.log_start_offset, log.log_end_offset):
        result = log.read(offset, 1, bound=ReadBound.LOG_END)
        assert result.records is not None
        header = next(walk(result.records.read()))
        assert header.base_offset <= offset <= header.last_offset
    for base_offset, (_, header) in original.batches.items():
        if base_offset < log.log_end_offset and not header.is_control:
            found = log.lookup.by_timestamp(header.base_timestamp)
            assert found is not None and found.offset == base_offset


def test_a_flip_in_the_tail_cuts_the_log_there(dirty: Original, tmp_path: Path) -> None:
    for name, byte, bit in places(dirty, "*.log", 131):
        inside = [
            header
            for segment, header in dirty.batches.values()
            if segment == name and header.position <= byte < header.end
        ]
        (header,) = inside
        if header.base_offset < dirty.recovery_point:
            continue
        log = reopened(dirty, flipped(dirty, tmp_path / "t-0", name, byte, bit), was_clean=False)
        if any(byte - header.position in uncovered for uncovered in UNCOVERED_BYTES):
            assert log.log_end_offset >= dirty.recovery_point
        else:
            assert log.log_end_offset == header.base_offset, (name, byte, bit)
            assert log.load_report.truncated_bytes and log.load_report.notes
            assert_reads_are_right(log, dirty)
        log.close_files()


@pytest.mark.parametrize("pattern", ["*.index", "*.timeindex", "*.txnindex", "*.snapshot"])
@pytest.mark.parametrize("was_clean", [True, False])
def test_a_flip_in_an_index_or_snapshot_is_never_believed(
    pattern: str,
    was_clean: bool,
    clean: Original,
    dirty: Original,
    tmp_path: Path,
) -> None:
    original = clean if was_clean else dirty
    for name, byte, bit in places(original, pattern, 29):
        copy = flipped(original, tmp_path / "t-0", name, byte, bit)
        log = reopened(original, copy, was_clean=was_clean)
        try:
            assert log.log_end_offset == original.end
            assert_reads_are_right(log, original)
            assert producers_of(log) == original.producers
            if pattern == "*.txnindex":
                assert aborted_of(log, 0, original.end) >= set(original.aborted)
        except BaseException as error:
            error.add_note(f"bit {bit} of byte {byte} of {name}")
            raise
        log.close_files()


@pytest.mark.parametrize("pattern", ["*.index", "*.timeindex", "*.txnindex", "*.snapshot"])
def test_what_is_noticed_is_said_and_what_is_not_is_harmless(
    pattern: str, clean: Original, tmp_path: Path
) -> None:
    """Every byte of the files. Whoever sees a flip makes the file anew and names it.

    Indexes carry no checksum, so some flips are never seen: a position or timestamp that is
    that of another batch before the one looked for costs a longer search and nothing else.
    """
    noticed = unnoticed = 0
    for name, byte, _ in places(clean, pattern, 8):
        copy = flipped(clean, tmp_path / "t-0", name, byte, (3 * byte) % 8)
        damaged = (copy / name).read_bytes()
        log = reopened(clean, copy, was_clean=True)
        assert_reads_are_right(log, clean)
        assert producers_of(log) == clean.producers
        assert aborted_of(log, 0, clean.end) >= set(clean.aborted)
        log.close()
        is_named = any(name in note for note in log.load_report.notes)
        is_as_it_was = not (copy / name).exists() or (copy / name).read_bytes() == damaged
        if is_named:
            noticed += 1
        else:
            assert is_as_it_was, (name, byte, log.load_report.notes)
            assert log.load_report.notes == []
            unnoticed += 1
    assert noticed > 0
    assert noticed + unnoticed == sum(path.stat().st_size for path in clean.directory.glob(pattern))


@pytest.mark.parametrize(
    ("name", "byte", "bit"),
    [
        ("00000000000000000000.index", 7, 0),  # a byte before a batch: reads went past it all
        ("00000000000000000042.index", 20, 7),  # a last position below zero: the disk was blamed
        ("00000000000000000000.timeindex", 0, 7),  # a first timestamp below zero was not checked
        ("00000000000000000042.timeindex", 31, 1),  # nor was a last one that is still the largest
        ("00000000000000000010.txnindex", 17, 3),  # a later batch of a transaction begun before
    ],
)
def test_flips_that_were_once_believed(
    name: str, byte: int, bit: int, clean: Original, tmp_path: Path
) -> None:
    copy = flipped(clean, tmp_path / "t-0", name, byte, bit)
    log = reopened(clean, copy, was_clean=True)
    assert_reads_are_right(log, clean)
    assert aborted_of(log, 0, clean.end) == set(clean.aborted)
    assert any(name in note for note in log.load_report.notes)
    log.close_files()


def test_a_flip_in_the_epoch_file_costs_epochs_at_most(clean: Original, tmp_path: Path) -> None:
    for name, byte, bit in places(clean, "leader-epoch-checkpoint", 3):
        copy = flipped(clean, tmp_path / "t-0", name, byte, bit)
        log = reopened(clean, copy, was_clean=True)
        assert log.log_end_offset == clean.end
        assert_reads_are_right(log, clean)
        log.close_files()
