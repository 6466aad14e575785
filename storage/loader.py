"""Opening a log: what a clean stop or a crash has left becomes a log again.

In this order (Kafka's LogLoader): leftovers of deletions and unfinished compactions go,
finished compactions are carried through, segments are found, what lies above the recovery
point is checked and cut at the first bad batch unless the stop was clean, leader epochs and
producer state are brought in line. An empty partition costs one directory listing.
"""

import logging
from contextlib import suppress

from barnabas.storage.batch_reader import read_batches
from barnabas.storage.errors import CorruptBatch, CorruptCheckpoint, CorruptIndex
from barnabas.storage.file_slice import FileCache
from barnabas.storage.fs import remove_path
from barnabas.storage.leader_epochs import FILE_NAME as EPOCHS_FILE
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.load_cleanup import UNFINISHED, clean_up
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_state import LoadReport
from barnabas.storage.producer_rebuild import rebuild_producers
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.segment import Segment
from barnabas.storage.segment_files import (
    INDEX,
    LOG,
    SEGMENT_EXTENSIONS,
    TIME_INDEX,
    TRANSACTION_INDEX,
)
from barnabas.storage.segment_recovery import recover_segment
from barnabas.storage.segments import Segments

_FAR = 1 << 63
_logger = logging.getLogger(__name__)


class Loader:
    """Opens one log; afterwards its attributes are what the log is made of."""

    __slots__ = (
        "_clean_shutdown",
        "_config",
        "_directory",
        "_epochs_are_lost",
        "_expiration_ms",
        "_names",
        "_now_ms",
        "epochs",
        "files",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "recovery_point",
        "report",
        "segments",
    )

    def __init__(
        self,
        files: FileCache,
        directory: str,
        config: LogConfig,
        now_ms: int,
        *,
        clean_shutdown: bool,
        recovery_point: int,
        log_start_offset: int,
        producer_id_expiration_ms: int,
    ) -> None:
        self.files = files
        self._directory = directory
        self._config = config
        self._now_ms = now_ms
        self._clean_shutdown = clean_shutdown
        self._expiration_ms = producer_id_expiration_ms
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_start_offset
        self.segments = Segments()
        self.epochs = LeaderEpochs(files.fs, directory)
        self.report = LoadReport()
        self._names: set[str] = set()
        self._epochs_are_lost = False
        self.producers = ProducerState(files.fs, directory)

    def load(self) -> None:
        """Do it; raises OSError if the disk fails."""
        fs = self.files.fs
        self._names = set(fs.list_directory(self._directory))
        if any(name.endswith(UNFINISHED) for name in self._names):
            self._names = clean_up(fs, self._directory, self._names, self._say)
        if EPOCHS_FILE in self._names:
            self._load_epochs()
        self.producers.snapshots = sorted(
            int(name[:20]) for name in self._names if name[20:] == ".snapshot"
        )
        suspects = self._load_segments()
        if self.segments:
            self._settle(suspects)
        else:
            self._start_empty()

    def _say(self, text: str) -> None:
        self.report.notes.append(text)
        _logger.warning("%s: %s", self._directory, text)

    def _load_epochs(self) -> None:
        try:
            self.epochs.load()
        except CorruptCheckpoint as error:
            self._say(f"{error.reason}; it is made anew")
            self._epochs_are_lost = True

    def _load_segments(self) -> list[Segment]:
        """Find the segments: those whose indexes are missing or make no sense."""
        names, suspects = self._names, []
        for name in sorted(names):
            stem, extension = name[:20], name[20:]
            if extension == LOG:
                segment = self._load_segment(int(stem))
                if segment is not None:
                    suspects.append(segment)
            elif extension in SEGMENT_EXTENSIONS and stem + LOG not in names:
                self._say(f"{name} has no .log file; it is removed")
                remove_path(self.files.fs, f"{self._directory}/{name}")
        return suspects

    def _load_segment(self, base_offset: int) -> Segment | None:
        stem = f"{base_offset:020d}"
        segment = self._new_segment(base_offset, stem + TRANSACTION_INDEX in self._names)
        segment.attach(self.files.fs.stat(segment.log_file.path).st_size)
        self.segments.add(segment)
        if not {stem + INDEX, stem + TIME_INDEX} <= self._names:
            if segment.size_bytes and self._clean_shutdown:
                self._say(f"{stem}{LOG} lacks an index")
            return segment
        try:
            segment.transaction_index.entries()
        except CorruptIndex as error:
            self._say(error.reason)
            return segment
        return None

    def _new_segment(self, base_offset: int, has_aborted: bool = False) -> Segment:
        return Segment(
            self.files,
            self._directory,
            base_offset,
            self._config,
            self._now_ms,
            has_aborted=has_aborted,
        )

    def _recover(self, segment: Segment) -> int:
        """Check one segment from its start, with the producers as they were before it."""
        producers = ProducerState(self.files.fs, self._directory, self.producers.snapshots)
        rebuild_producers(
            producers,
            self.segments,
            self.log_start_offset,
            segment.base_offset,
            self._now_ms,
            self._expiration_ms,
        )
        cut = recover_segment(segment, producers, self.epochs)
        producers.take_snapshot()
        self.producers.snapshots = producers.snapshots
        if cut:
            self._say(f"cut {cut} bytes behind offset {producers.map_end_offset}")
        self.report.truncated_bytes += cut
        self.report.recovered_segments.append(segment.base_offset)
        return cut

    def _settle(self, suspects: list[Segment]) -> None:
        """Agree on where the log ends, and bring everything else in line with it."""
        if self._epochs_are_lost:
            self._find_epochs()
        unflushed = []
        if not self._clean_shutdown:
            unflushed = self.segments.between(self.recovery_point, _FAR)
        for segment in suspects:
            if segment not in unflushed:
                self._recover(segment)
        self._recover_unflushed(unflushed)
        end = self._end_of_last_segment()
        if end < self.log_start_offset:
            self._say(f"ends at {end}, below its start {self.log_start_offset}; starts anew")
            self._drop(list(self.segments))
            self.epochs.clear()
            self.producers.start_at(self.log_start_offset)
            self._start_empty()
            return
        self.log_end_offset = end
        self.recovery_point = end if self._clean_shutdown else min(self.recovery_point, end)
        self._settle_epochs_and_producers()

    def _find_epochs(self) -> None:
        """From the batches themselves, as far as they are batches."""
        for segment in self.segments:
            with suppress(CorruptBatch):
                fd = segment.log_file.open().fd
                for _, header, _ in read_batches(self.files.fs.pread, fd, 0, segment.size_bytes):
                    if header.partition_leader_epoch > self.epochs.latest_epoch:
                        self.epochs.assign(header.partition_leader_epoch, header.base_offset)

    def _recover_unflushed(self, unflushed: list[Segment]) -> None:
        for number, segment in enumerate(unflushed):
            rest = unflushed[number + 1 :]
            if self._recover(segment) or (rest and self._has_lost_its_end(segment, rest[0])):
                self._drop(rest)
                return

    def _has_lost_its_end(self, segment: Segment, following: Segment) -> bool:
        """Did a power cut keep the next segment but not all of this one?

        Only compaction leaves gaps between segments otherwise.
        """
        end = segment.read_next_offset()
        if self._config.compact or end == following.base_offset:
            return False
        self._say(f"nothing between {end} and {following.base_offset}")
        return True

    def _drop(self, segments: list[Segment]) -> None:
        fs = self.files.fs
        for segment in segments:
            self._say(f"segment {segment.base_offset} is dropped")
            self.segments.remove(segment.base_offset)
            segment.close()
            for file in segment.each_file():
                remove_path(fs, file.path)
            self.producers.remove_snapshot(segment.base_offset)
            self.report.dropped_segments.append(segment.base_offset)

    def _end_of_last_segment(self) -> int:
        """The log end offset; a last segment that is not sound after all is recovered."""
        segment = self.segments.last
        try:
            end = segment.read_next_offset()
            segment.largest_timestamp()
            return end
        except (CorruptIndex, CorruptBatch) as error:
            self._say(error.reason)
            self.segments.remove(segment.base_offset)
            self._recover(segment)
            return segment.read_next_offset()

    def _settle_epochs_and_producers(self) -> None:
        start = self.log_start_offset
        self.epochs.truncate_from_end(self.log_end_offset)
        self.epochs.truncate_from_start(start)
        self.epochs.write()
        self.log_start_offset = max(start, self.segments.first.base_offset)
        self.producers.remove_stray_snapshots(self.segments.base_offsets)
        rebuild_producers(
            self.producers,
            self.segments,
            self.log_start_offset,
            self.log_end_offset,
            self._now_ms,
            self._expiration_ms,
            was_clean=self._clean_shutdown,
        )

    def _start_empty(self) -> None:
        """No segment: one begins at the log start offset, without files while that is 0."""
        segment = self._new_segment(self.log_start_offset)
        if self.log_start_offset:
            segment.create()
        self.segments.add(segment)
        self.log_end_offset = self.log_start_offset
        self.recovery_point = self.log_start_offset
        self.producers.map_end_offset = self.log_start_offset
