"""Opening a log: what a clean stop or a crash has left becomes a log again.

In this order (Kafka's LogLoader): leftovers of deletions and unfinished compactions go,
finished compactions are carried through, segments are found, what lies above the recovery
point is checked and cut at the first bad batch unless the stop was clean, leader epochs and
producer state are brought in line. An empty partition costs one directory listing.
"""

from itertools import pairwise

from barnabas.storage.disk.fs import remove_path
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptBatch, CorruptCheckpoint, CorruptIndex
from barnabas.storage.file_names import (
    INDEX,
    LOG,
    SEGMENT_EXTENSIONS,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    UNFINISHED,
)
from barnabas.storage.loading.job import FAR, LoadJob, Recovered
from barnabas.storage.loading.leftovers import clean_up, foreign_names
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.loading.unclean_segments import Recovery
from barnabas.storage.loading.unopened_logs import bytes_to_read
from barnabas.storage.producers.leader_epochs import FILE_NAME as EPOCHS_FILE
from barnabas.storage.segment.index_checks import check_aborted, read_checked_end
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.split import split_if_overflowing


class Loader(Recovery):
    """Opens one log; afterwards its attributes are what the log is made of."""

    __slots__ = ("_foreign", "_is_surveyed", "_names")

    def __init__(self, files: FileCache, job: LoadJob) -> None:
        super().__init__(files, job)
        self._is_surveyed = False
        self._names: set[str] = set()
        """The log's files; other people's are `_foreign`."""
        self._foreign: list[str] = []

    def survey(self) -> int:
        """How many bytes there will be to recover and replay, about; `load` may follow at once."""
        self._list()
        self._is_surveyed = True
        return bytes_to_read(
            self._names,
            self._size_of,
            clean_shutdown=self._clean_shutdown,
            recovery_point=self.recovery_point,
        )

    def _list(self) -> None:
        names = set(self.files.fs.list_directory(self._directory))
        self._foreign = foreign_names(names)
        self._names = names.difference(self._foreign)

    def _size_of(self, name: str) -> int:
        return self.files.fs.stat(f"{self._directory}/{name}").st_size

    def load_recovered(self, recovered: Recovered) -> None:
        """Open the log after another process has done the work."""
        self._clean_shutdown = True
        self.log_start_offset = recovered.log_start_offset
        self.load()
        self.producers.widen(recovered.windows)
        self.recovery_point = min(recovered.recovery_point, self.log_end_offset)
        for segment in self.segments.between(self.recovery_point, FAR):
            segment.made_elsewhere()
        self.epochs.writes += 1
        recovered.report.notes += self.report.notes
        self.report = recovered.report

    def load(self) -> None:
        """Do it; raises OSError if the disk fails."""
        if not self._is_surveyed:
            self._list()
        self._is_surveyed = False  # of what is there after this
        for name in self._foreign:
            self._say(f"{name} is no file of a log; it is left alone")
        self._clean_up()
        self._split_overflowing_segments()
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

    def _clean_up(self) -> None:
        if any(name.endswith(UNFINISHED) for name in self._names):
            self._names = clean_up(self.files.fs, self._directory, self._names, self._say)

    def _split_overflowing_segments(self) -> None:
        """A segment can overflow only if the next one begins that far behind it."""
        bases = sorted(int(name[:20]) for name in self._names if name[20:] == LOG)
        for base_offset, following in pairwise(bases):
            if following - base_offset > MAX_RELATIVE_OFFSET + 1:
                segment = self._new_segment(base_offset)
                segment.attach(self._size_of(f"{base_offset:020d}{LOG}"))
                split = split_if_overflowing(segment, self._directory)
                segment.close()
                if split:
                    self._say(f"segment {base_offset} is split into {split}")
                    self._names.update(f"{each:020d}{LOG}{SWAP}" for each in split)
                    self._clean_up()

    def _load_epochs(self) -> None:
        try:
            self.epochs.load()
        except CorruptCheckpoint as error:
            self._say(f"{error.reason}; it is made anew")
            self._epochs_are_lost = self.epochs.dirty = True

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
        segment.attach(self._size_of(stem + LOG))
        self.segments.add(segment)
        if not {stem + INDEX, stem + TIME_INDEX} <= self._names:
            if segment.size_bytes and self._clean_shutdown:
                self._say(f"{stem}{LOG} lacks an index")
            return segment
        try:
            if segment.transaction_index.exists:
                check_aborted(segment, self.producers.open_at(base_offset))
        except CorruptIndex as error:
            self._say(error.reason)
            return segment
        except CorruptBatch as error:  # recovery cuts it, or whoever reads it is told
            self._say(f"its aborted transactions cannot be checked: {error.reason}")
        return None

    def _settle(self, suspects: list[Segment]) -> None:
        """Agree on where the log ends, and bring everything else in line with it."""
        if self._epochs_are_lost:
            self._find_epochs()
        unflushed = []
        if not self._clean_shutdown:
            unflushed = self.segments.between(self.recovery_point, FAR)
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
        self._sync_recovered()

    def _end_of_last_segment(self) -> int:
        """The log end offset; a last segment that is not sound after all is recovered."""
        segment = self.segments.last
        try:
            return read_checked_end(segment)
        except CorruptIndex as error:
            self._say(error.reason)
            self._recover(segment)
        except CorruptBatch as error:
            cut = self._recover(segment)
            misleading = segment.log_file if cut else segment.offset_index.file
            self._say(f"{misleading.path}: {error.reason}")
        return segment.read_next_offset()

    def _settle_epochs_and_producers(self) -> None:
        start = self.log_start_offset
        self.epochs.truncate_from_end(self.log_end_offset)
        self.epochs.truncate_from_start(start)
        self.epochs.write(None if self._epochs_are_lost else self.log_end_offset)
        self.log_start_offset = max(start, self.segments.first.base_offset)
        self.producers.remove_stray_snapshots(self.segments.base_offsets)
        try:
            rebuild_producers(
                self.producers,
                self.segments,
                self.log_start_offset,
                self.log_end_offset,
                self.job.now_ms,
                self.job.producer_id_expiration_ms,
                was_clean=self._clean_shutdown and not self.job.had_snapshots,
                most_bytes=self.most_bytes,
            )
            self.producers.widen(self.windows)
        finally:
            self._say_damages(self.producers)

    def _start_empty(self) -> None:
        """No segment: one begins at the log start offset, without files while that is 0."""
        segment = self._new_segment(self.log_start_offset)
        if self.log_start_offset:
            segment.create()
        self.segments.add(segment)
        self.log_end_offset = self.log_start_offset
        self.recovery_point = self.log_start_offset
        self.producers.map_end_offset = self.log_start_offset
        self.epochs.write()
