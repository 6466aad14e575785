"""Deleting and replacing whole segments.

A segment is deleted in two steps: its files get the suffix `.deleted` at once, and are
to be unlinked `file.delete.delay.ms` later: `take_due_files` tells the log's owner which. Files
that a crash leaves under that suffix are removed when the log is opened.

A compacted segment is written beside its originals as `.cleaned`. Replacing renames it to
`.swap`, the originals to `.deleted`, and then `.swap` to the final name. A crash before all
are `.swap` loses nothing but the work; after it, opening the log finishes the job.
"""

from collections.abc import Sequence
from contextlib import suppress

from barnabas.storage.disk.fs import exists, sync_directory
from barnabas.storage.file_names import (
    CLEANED,
    DELETED,
    SWAP,
    TRANSACTION_INDEX,
    is_leaving,
    segment_path,
)
from barnabas.storage.log.log_roll import LogRoll
from barnabas.storage.segment.segment import Segment


class LogCleanup(LogRoll):
    """Deleting and replacing segments."""

    __slots__ = ()

    def _set_aside(self, segment: Segment, now_ms: int) -> None:
        """Rename a segment's files and its snapshot; they are unlinked later."""
        due_ms = self._deletion_due_ms(now_ms)
        if segment.exists:
            segment.change_suffix("", DELETED)
            self._deletions.extend((due_ms, file.path) for file in segment.each_file())
        segment.close()
        if (snapshot := self.producers.set_aside_snapshot(segment.base_offset)) is not None:
            self._deletions.append((due_ms, snapshot))

    def _deletion_due_ms(self, now_ms: int) -> int:
        """When files set aside now are to be unlinked, by the clock of `take_due_files`."""
        return now_ms + self.config.file_delete_delay_ms

    def take_due_files(self, now_ms: int) -> tuple[list[str], int | None]:
        """Paths of set-aside files whose delay is over, and when the next one is due."""
        deletions = self._deletions
        due = []
        while deletions and deletions[0][0] <= now_ms:
            due.append(deletions.popleft()[1])
        return due, deletions[0][0] if deletions else None

    def delete_old_segments(self, count: int, now_ms: int) -> int:
        """Delete the `count` oldest segments (see `retention`): how many were.

        None is deleted that reaches above the high watermark. If all are, the log goes on in
        a new, empty segment; the log start offset follows.
        """
        try:
            return self._delete_old_segments(count, now_ms)
        except OSError as error:
            self._fail(error)

    def _delete_old_segments(self, count: int, now_ms: int) -> int:
        doomed = []
        for segment in list(self.segments)[:count]:
            following = self.segments.after(segment.base_offset)
            end = self.log_end_offset if following is None else following.base_offset
            if end > self.high_watermark or (following is None and not segment.size_bytes):
                break
            doomed.append(segment)
        if not doomed:
            return 0
        if len(doomed) == len(self.segments):
            self.roll(now_ms)
        self.generation += 1
        for segment in doomed:
            self.segments.remove(segment.base_offset)
        self._start_at(self.segments.first.base_offset)
        self._active.name_changes += 1  # what is flushed next outlives what comes back
        for segment in doomed:
            self._set_aside(segment, now_ms)
        return len(doomed)

    def _start_at(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)
            self.epochs.write()
            self.producers.on_log_start_offset(offset)
            self._update_first_unstable_offset()

    def set_aside_leavings(self) -> int:
        """Rename what a compaction that came to nothing has left: how many files.

        They are to be unlinked without delay. The log's own segments have their final names
        whenever somebody may call this. Raises OSError.
        """
        fs, directory = self.fs, self.directory
        leavings = [name for name in fs.list_directory(directory) if is_leaving(name)]
        for name in leavings:
            path = f"{directory}/{name}"
            with suppress(FileNotFoundError):
                fs.rename(path, path + DELETED)
            self._deletions.appendleft((0, path + DELETED))
        return len(leavings)

    def cleaned_extent(self, base_offset: int) -> tuple[int, int]:
        """(size in bytes, last offset) of a finished `.cleaned` segment, as its files have it.

        The last offset is one below the base offset if the segment is empty. Raises OSError,
        CorruptIndex and CorruptBatch; nothing of the log is touched.
        """
        segment = self._cleaned_segment(base_offset, 0)
        try:
            return segment.size_bytes, segment.read_next_offset() - 1
        finally:
            segment.close()

    def replace_segments(
        self,
        new_base_offsets: Sequence[int],
        old: Sequence[Segment],
        now_ms: int,
        *,
        sync: bool = True,
    ) -> None:
        """Put finished `.cleaned` segments in the place of `old`, none of them the active one.

        Without `sync` the caller syncs the directory; a power cut before that brings the old
        segments back, or finds renames half done that opening the log completes.
        """
        try:
            self._replace_segments(sorted(new_base_offsets), old, now_ms)
            if sync:
                sync_directory(self.fs, self.directory)
        except OSError as error:
            self._fail(error)

    def _replace_segments(
        self, new_base_offsets: Sequence[int], old: Sequence[Segment], now_ms: int
    ) -> None:
        new = [self._cleaned_segment(base_offset, now_ms) for base_offset in new_base_offsets]
        self.generation += 1
        for segment in reversed(new):
            segment.change_suffix(CLEANED, SWAP)
        for segment in old:
            self.segments.remove(segment.base_offset)
            kept = segment.base_offset in new_base_offsets
            self._set_aside_replaced(segment, now_ms, keep_snapshot=kept)
        for segment in new:
            segment.change_suffix(SWAP, "")
            self.segments.add(segment)

    def _set_aside_replaced(self, segment: Segment, now_ms: int, *, keep_snapshot: bool) -> None:
        if keep_snapshot:
            due_ms = self._deletion_due_ms(now_ms)
            segment.change_suffix("", DELETED)
            self._deletions.extend((due_ms, file.path) for file in segment.each_file())
            segment.close()
        else:
            self._set_aside(segment, now_ms)

    def _cleaned_segment(self, base_offset: int, now_ms: int) -> Segment:
        fs = self.fs
        aborted = segment_path(self.directory, base_offset, TRANSACTION_INDEX, CLEANED)
        segment = Segment(
            self.files,
            self.directory,
            base_offset,
            self.config,
            now_ms,
            suffix=CLEANED,
            has_aborted=exists(fs, aborted),
        )
        segment.attach(fs.stat(segment.log_file.path).st_size)
        return segment
