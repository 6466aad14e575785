"""Making a log durable, in three steps so that the waiting can be done elsewhere.

`begin` writes what is still in memory and says which files to sync; `Flush.sync` only waits
for the disk, in a worker thread if the caller likes; `end` raises the recovery point. After a
crash only what lies above the recovery point is checked.

A log with many segments to sync is flushed some at a time, so that their descriptors are never
all open at once. Nothing counts as durable before the sync has ended: two flushes begun one
after the other both sync what neither has synced yet.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from barnabas.storage.disk.fs import FileSystem, sync_directory, sync_file
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import is_out_of_descriptors
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.files import Changes
from barnabas.storage.segment.segment import Segment

SEGMENTS_SYNCED_AT_ONCE: Final = 32
"""Each with four files at most."""


@dataclass(slots=True)
class Flush:
    """Files to be synced so that everything below `offset` is durable."""

    offset: int
    truncations: int
    """How often the log had been truncated when this began."""
    fs: FileSystem
    directory: str | None
    open_files: list[OpenFile]
    paths: list[str]
    changes: list[tuple[Segment, Changes]]
    """What the sync makes durable of segments, names too."""
    epoch_writes: int
    """As of how many writes it makes the leader epochs durable."""

    def sync(self) -> None:
        """Wait for the disk; touches nothing but the files. Raises OSError.

        May be called again after that: what has been synced is let go of.
        """
        while self.open_files:
            self.open_files[-1].sync()
            self.open_files.pop()
        for path in self.paths:
            with suppress(FileNotFoundError):  # deleted in the meantime
                sync_file(self.fs, path)
        if self.directory is not None:
            sync_directory(self.fs, self.directory)


class LogFlusher:
    """The flushes of one log, and its recovery point.

    Recovery point ≤ log end offset: everything below it is on the disk, fsynced.
    """

    __slots__ = (
        "_directory",
        "_epochs",
        "_fs",
        "_offsets",
        "_producers",
        "_store",
        "recovery_point",
        "segments_synced_at_once",
    )

    def __init__(
        self,
        fs: FileSystem,
        directory: str,
        offsets: LogOffsets,
        store: SegmentStore,
        producers: ProducerState,
        epochs: LeaderEpochs,
        recovery_point: int,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._offsets = offsets
        self._store = store
        self._producers = producers
        self._epochs = epochs
        self.recovery_point = recovery_point
        self.segments_synced_at_once = SEGMENTS_SYNCED_AT_ONCE

    def relocate(self, directory: str) -> None:
        """The log's directory has another name now; no flush may be under way."""
        self._directory = directory

    def sure_offset(self) -> int:
        """All below is durable, the ends of transactions that it has become of included.

        Other transactions that reach across a segment's base end behind it. Raises a
        StorageError: they have to be read from snapshots if the log was not closed in order.
        """
        ends = self._producers.unsure_ends
        if not ends.are_known:
            try:
                first_offsets = self._open_at_bases()
            except OSError as error:
                self._store.failures.fail(error)
            ends.found(first_offsets, self._producers.ongoing, self._offsets.end)
        first = ends.first_offset
        return self.recovery_point if first is None else min(first, self.recovery_point)

    def _open_at_bases(self) -> list[int]:
        """Where transactions begin that were open at a segment's base and had no durable end."""
        first_offsets: list[int] = []
        if self.recovery_point == self._offsets.end:
            return first_offsets
        start = self._store.segments.first.base_offset
        for segment in self._store.segments.between(self.recovery_point, self._offsets.end):
            if segment.base_offset > start:
                found = self._producers.open_at(segment.base_offset)
                first_offsets += [start] if found is None else found.values()
        return first_offsets

    def begin(self, offset: int | None = None) -> Flush | None:
        """Prepare to make everything below `offset` (the log end) durable; None if it is.

        The flush may stop short of `offset`, at the end of a segment: another has to follow.
        """
        log_end = self._offsets.end
        end = log_end if offset is None else min(offset, log_end)
        if end <= self.recovery_point:
            return None
        while True:
            try:
                return self._begin(end)
            except OSError as error:
                if self.segments_synced_at_once == 1 or not is_out_of_descriptors(error):
                    self._store.failures.fail(error)
            self.segments_synced_at_once //= 2  # fewer descriptors may do

    def _begin(self, end: int) -> Flush:
        epochs, snapshots = self._epochs, self._producers.snapshots
        epochs.write(self._offsets.end)
        reached = self._store.segments.between(self.recovery_point, end)
        most = self.segments_synced_at_once
        if len(reached) > most:
            end = reached[most].base_offset
        segments = [each for each in reached[:most] if each.exists]
        files = [file for segment in segments for file in segment.files_to_sync()]
        paths = [
            self._producers.snapshot_path(offset)
            for offset in snapshots
            if self.recovery_point <= offset <= end
        ]
        are_durable = not paths and all(each.names_are_durable for each in segments)
        if epochs.synced_writes < epochs.writes:
            paths.append(epochs.path)
            are_durable = False
        directory = None if are_durable else self._directory
        return Flush(
            end, self._store.truncations, self._fs, directory, files, paths,
            [(segment, segment.changes()) for segment in segments], epochs.writes,
        )  # fmt: skip

    def end(self, flush: Flush) -> None:
        """The sync has succeeded: the recovery point follows, unless it was of a log that has
        been truncated since."""
        for segment, changes in flush.changes:
            segment.synced(changes, names=True)
        self._epochs.synced_writes = max(self._epochs.synced_writes, flush.epoch_writes)
        if flush.truncations == self._store.truncations:
            self.recovery_point = max(self.recovery_point, flush.offset)
            self._producers.unsure_ends.durable_below(self.recovery_point)

    def flush(self, offset: int | None = None) -> None:
        """Make everything below `offset` (the log end) durable, waiting for it here."""
        while (flush := self.begin(offset)) is not None:
            try:
                flush.sync()
            except OSError as error:
                self._store.failures.fail(error)
            self.end(flush)

    def go_back(self) -> None:
        """What was written to the active segment, or cut from it, is to be synced again.

        To what was durable already a flush would pay no heed, whatever is rolled until then.
        """
        self.recovery_point = min(self.recovery_point, self._store.active.base_offset)

    def complete(self) -> None:
        """Write what a clean stop leaves behind; the flush that has to follow makes it durable."""
        epochs = self._epochs
        try:
            epochs.write(self._offsets.end)
            snapshot = None
            if self._producers.leaves_snapshot(self._store.segments.size_bytes):
                snapshot = self._producers.take_snapshot(sync=False)
            has_changed = self._store.active.finish() or snapshot is not None
            if has_changed or epochs.synced_writes < epochs.writes:
                self.go_back()
        except OSError as error:
            self.go_back()  # some of it may be written, and is not written again
            self._store.failures.fail(error)
