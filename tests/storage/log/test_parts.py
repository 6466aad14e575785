"""The parts of a log, each on its own: nothing here makes a `Log`."""

from pathlib import Path

import pytest

from barnabas.storage.batch.header import walk
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import LogDirectoryFailed, OffsetOutOfRange
from barnabas.storage.loading.job import LoadReport
from barnabas.storage.log.append import LogAppender
from barnabas.storage.log.failure_channel import FailureChannel
from barnabas.storage.log.flush import LogFlusher
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.mended_indexes import MendedIndexes
from barnabas.storage.log.offset_lookup import OffsetLookup, TimestampedOffset
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.pending_deletions import PendingDeletions
from barnabas.storage.log.read import LogReader
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.log.trim import LogTrimmer
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments

from ..logs import NOW_MS, a_batch, config

LATER_MS = NOW_MS + 60_000


class Told(LogListener):
    """A listener that notes what it is told."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def rolled(self) -> None:
        self.events.append("rolled")

    def set_aside(self) -> None:
        self.events.append("set aside")

    def deletion_clock_ms(self, now_ms: int) -> int:
        return 1_000

    def truncating(self, offset: int, base_offset: int) -> None:
        self.events.append(("truncating", offset, base_offset))

    def emptied(self) -> None:
        self.events.append("emptied")

    def failed(self, error: OSError) -> None:
        self.events.append(error)


class Parts:
    """What a log is made of, in an empty directory."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        directory, files, settings = str(folder), FileCache(REAL), config()
        self.told, self.report = Told(), LoadReport()
        self.producers, self.epochs = ProducerState(REAL, directory), LeaderEpochs(REAL, directory)
        segments = Segments()
        segments.add(Segment(files, directory, 0, settings, NOW_MS))
        self.failures = FailureChannel(directory, "t-0", segments, self.epochs, self.told)
        self.indexes = MendedIndexes(REAL, directory, "t-0", segments, self.report)
        self.store = SegmentStore(
            files, directory, settings, segments, self.producers, self.indexes, self.failures,
            self.told,
        )  # fmt: skip
        self.offsets = LogOffsets(self.producers)
        self.flusher = LogFlusher(
            REAL, directory, self.offsets, self.store, self.producers, self.epochs, 0
        )
        self.lookup = OffsetLookup(self.offsets, self.store, self.epochs)

    def fill(self, *base_offsets: int) -> None:
        """A record at each offset, each in a segment of its own; timestamps are the offsets."""
        for offset in base_offsets:
            if offset:
                self.store.roll(offset, NOW_MS)
            batch = a_batch(1, timestamp=offset)
            batch[:8] = offset.to_bytes(8)
            self.store.active.append_set(batch, list(walk(batch)))
            self.offsets.end = offset + 1

    def names(self, extension: str) -> list[int]:
        return sorted(int(path.stem[:20]) for path in self.path.glob(f"*.{extension}"))


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path)


def test_offsets_keep_their_order(parts: Parts) -> None:
    offsets = LogOffsets(parts.producers, 5, 10)
    assert (offsets.high_watermark, offsets.last_stable) == (5, 5)
    assert [offsets.update_high_watermark(each) for each in (7, 3, 99)] == [7, 5, 10]
    assert not offsets.maybe_increment_high_watermark(10)
    with pytest.raises(ValueError, match="above log end"):
        offsets.maybe_increment_high_watermark(11)


def test_an_open_transaction_bounds_the_last_stable_offset(parts: Parts) -> None:
    offsets = LogOffsets(parts.producers, 0, 10)
    parts.producers.ongoing[4] = 7
    offsets.update_first_unstable()
    offsets.update_high_watermark(3)
    assert offsets.last_stable == 3
    offsets.update_high_watermark(10)
    assert offsets.last_stable == 4


def test_a_store_rolls_and_says_so(parts: Parts) -> None:
    parts.fill(0, 3, 7)
    assert parts.store.active is parts.store.segments.last
    assert parts.names("log") == [0, 3, 7] and parts.names("snapshot") == [3, 7]
    assert parts.told.events == ["rolled", "rolled"]


def test_a_store_cuts_whole_segments_from_the_end(parts: Parts) -> None:
    parts.fill(0, 3, 7)
    parts.store.truncate_to(3, LATER_MS)
    assert parts.store.segments.base_offsets == [0, 3]
    assert parts.store.active.base_offset == 3 and not parts.store.active.size_bytes
    assert (parts.store.generation, parts.store.truncations) == (1, 1)
    parts.store.start_anew(20, LATER_MS)
    assert parts.store.segments.base_offsets == parts.names("log") == [20]
    assert (parts.store.generation, parts.store.truncations) == (2, 2)


def test_files_set_aside_are_due_by_the_clock_of_the_listener(parts: Parts) -> None:
    parts.fill(0, 3)
    doomed = list(parts.store.segments)[:1]
    parts.store.forget(doomed)
    parts.store.set_aside(doomed, LATER_MS)
    due_ms = 1_000 + config().file_delete_delay_ms
    assert parts.told.events[1:] == ["set aside"]
    assert parts.store.deletions.take_due(due_ms - 1) == ([], due_ms)
    paths, next_due_ms = parts.store.deletions.take_due(due_ms)
    assert next_due_ms is None
    renamed = set(parts.path.glob("*.deleted"))
    assert len(renamed) == 3 and renamed <= {Path(path) for path in paths}


def test_leavings_of_a_compaction_are_due_at_once(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / f"{3:020d}.log.cleaned").touch()
    pending = PendingDeletions(REAL, str(tmp_path), parts.producers, parts.told, 5)
    assert pending.set_aside_leavings() == 1
    assert pending.take_due(0) == ([f"{tmp_path}/{3:020d}.log.cleaned.deleted"], None)
    assert parts.told.events == ["set aside"]


def test_a_bad_index_is_made_anew_and_noted(parts: Parts) -> None:
    parts.fill(0, 3)
    segment = parts.store.segments.first
    segment.close()
    (parts.path / f"{0:020d}.timeindex").write_bytes(b"\xff" * 12)
    segment.attach(segment.size_bytes)
    assert parts.indexes.largest_timestamp(segment) == (0, 0)
    assert segment.was_mended and len(parts.report.notes) == 1


def test_a_flusher_moves_the_recovery_point_and_goes_back_for_a_cut(parts: Parts) -> None:
    parts.fill(0, 3, 7)
    assert parts.flusher.begin(0) is None
    before = parts.flusher.begin()
    assert before is not None and before.offset == 8
    parts.store.truncate_to(7, LATER_MS)
    before.sync()
    parts.flusher.end(before)
    assert parts.flusher.recovery_point == 0  # it was begun before the cut
    parts.flusher.flush()
    assert parts.flusher.recovery_point == 8
    parts.flusher.go_back()
    assert parts.flusher.recovery_point == 7


def test_a_lookup_searches_a_store_by_time_and_by_epoch(parts: Parts) -> None:
    parts.fill(0, 3, 7)
    parts.epochs.assign(0, 0)
    parts.epochs.assign(2, 3)
    assert parts.lookup.by_timestamp(1) == TimestampedOffset(3, 3, -1)
    assert parts.lookup.by_timestamp(8) is None
    assert parts.lookup.of_max_timestamp() == TimestampedOffset(7, 7, -1)
    assert parts.lookup.end_offset_for_epoch(1) == (0, 3)
    assert (parts.lookup.earliest().offset, parts.lookup.latest().offset) == (0, 8)


def test_a_reader_finds_what_lies_below_an_end(parts: Parts) -> None:
    parts.fill(0, 3, 7)
    reader = LogReader(parts.offsets, parts.store)
    records = reader.read(1, 4, 1_000, True, False).records
    assert records is not None
    assert [header.base_offset for header in walk(records.read())] == [3]
    assert reader.read(0, 8, 0, True, True).aborted_transactions == []


def test_an_appender_gives_the_next_offsets(parts: Parts) -> None:
    appender = LogAppender(
        "t-0", config(), parts.offsets, parts.store, parts.producers, parts.epochs
    )
    assert appender.plain.applies
    info = appender.plain.append(a_batch(2), 4, NOW_MS, True)
    assert info is not None and (info.first_offset, info.last_offset) == (0, 1)
    assert (parts.offsets.end, parts.epochs.entries()) == (2, [(4, 0)])


def test_a_trimmer_tells_before_it_cuts(parts: Parts) -> None:
    parts.fill(0, 3, 7)
    trimmer = LogTrimmer(
        "t-0", parts.offsets, parts.store, parts.flusher, parts.producers, parts.epochs,
        parts.told, 1_000,
    )  # fmt: skip
    parts.told.events.clear()
    assert trimmer.truncate_to(5, LATER_MS)
    assert parts.told.events == [("truncating", 5, 3), "set aside"]
    assert (parts.offsets.end, parts.store.segments.base_offsets) == (5, [0, 3])
    trimmer.truncate_fully_and_start_at(20, LATER_MS, None)
    assert parts.told.events[2:] == [("truncating", 20, 3), "set aside", "set aside", "emptied"]
    with pytest.raises(OffsetOutOfRange):
        trimmer.maybe_increment_log_start_offset(21)
    with pytest.raises(OffsetOutOfRange):
        trimmer.truncate_fully_and_start_at(-1, LATER_MS, None)


def test_a_failure_is_told_before_it_is_raised_and_the_files_are_lost(parts: Parts) -> None:
    parts.fill(0)
    error = OSError(5, "gone")
    with pytest.raises(LogDirectoryFailed, match="gone"):
        parts.failures.fail(error)
    assert parts.told.events == [error]
    with pytest.raises(LogDirectoryFailed):
        parts.store.roll(1, LATER_MS)
    assert parts.names("log") == [0]
