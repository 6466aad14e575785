"""Making a log durable, in three steps so that the waiting can be done elsewhere.

`begin_flush` writes what is still in memory and says which files to sync; `Flush.sync` only
waits for the disk, in a worker thread if the caller likes; `end_flush` raises the recovery
point. After a crash only what lies above the recovery point is checked.

A log with many segments to sync is flushed some at a time, so that their descriptors are never
all open at once. Nothing counts as durable before the sync has ended: two flushes begun one
after the other both sync what neither has synced yet.
"""

from contextlib import suppress
from dataclasses import dataclass

from barnabas.storage.disk.fs import FileSystem, sync_directory, sync_file
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import is_out_of_descriptors
from barnabas.storage.log.log_truncate import LogTruncate
from barnabas.storage.segment.files import Changes
from barnabas.storage.segment.segment import Segment


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


class LogFlush(LogTruncate):
    """Flushing."""

    __slots__ = ()

    @property
    def unflushed_offsets(self) -> int:
        """How many offsets lie above the recovery point (see `flush.messages`)."""
        return self.log_end_offset - self.recovery_point

    def begin_flush(self, offset: int | None = None) -> Flush | None:
        """Prepare to make everything below `offset` (the log end) durable; None if it is.

        The flush may stop short of `offset`, at the end of a segment: another has to follow.
        """
        end = self.log_end_offset if offset is None else min(offset, self.log_end_offset)
        if end <= self.recovery_point:
            return None
        while True:
            try:
                return self._begin_flush(end)
            except OSError as error:
                if self.segments_synced_at_once == 1 or not is_out_of_descriptors(error):
                    self._fail(error)
            self.segments_synced_at_once //= 2  # fewer descriptors may do

    def _begin_flush(self, end: int) -> Flush:
        epochs, snapshots = self.epochs, self.producers.snapshots
        epochs.write(self.log_end_offset)
        reached = self.segments.between(self.recovery_point, end)
        most = self.segments_synced_at_once
        if len(reached) > most:
            end = reached[most].base_offset
        segments = [each for each in reached[:most] if each.exists]
        files = [file for segment in segments for file in segment.files_to_sync()]
        paths = [
            self.producers.snapshot_path(offset)
            for offset in snapshots
            if self.recovery_point <= offset <= end
        ]
        are_durable = not paths and all(each.names_are_durable for each in segments)
        if epochs.synced_writes < epochs.writes:
            paths.append(epochs.path)
            are_durable = False
        return Flush(
            end, self.truncations, self.fs, None if are_durable else self.directory, files, paths,
            [(segment, segment.changes()) for segment in segments], epochs.writes,
        )  # fmt: skip

    def end_flush(self, flush: Flush) -> None:
        """The sync has succeeded: the recovery point follows, unless it was of a log that has
        been truncated since."""
        for segment, changes in flush.changes:
            segment.synced(changes, names=True)
        self.epochs.synced_writes = max(self.epochs.synced_writes, flush.epoch_writes)
        if flush.truncations == self.truncations:
            self.recovery_point = max(self.recovery_point, flush.offset)

    def flush(self, offset: int | None = None) -> None:
        """Make everything below `offset` (the log end) durable, waiting for it here."""
        while (flush := self.begin_flush(offset)) is not None:
            try:
                flush.sync()
            except OSError as error:
                self._fail(error)
            self.end_flush(flush)

    def complete(self) -> None:
        """Write what a clean stop leaves behind; the flush that has to follow makes it durable.

        The recovery point goes back for that, to where something was written: to what was
        durable already a flush would pay no heed.
        """
        try:
            self.epochs.write(self.log_end_offset)
            snapshot = self.producers.take_snapshot(sync=False)
            has_changed = self._active.finish() or snapshot is not None
            if has_changed or self.epochs.synced_writes < self.epochs.writes:
                self.recovery_point = min(self.recovery_point, self._active.base_offset)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Complete and save everything for a clean stop; the log is not to be used afterwards."""
        try:
            self.complete()
            self.flush()
        finally:
            self.close_files()

    def close_files(self) -> None:
        """Give up the descriptors and nothing else, as for a directory that has failed."""
        for segment in self.segments:
            segment.close()
