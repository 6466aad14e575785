"""The segments of one log as files of its directory: made, rolled, cut, replaced, deleted.

What is cut from the end goes from the end on, so that a crash half-way leaves no gap, and what
whole segments have gone is durable before anything is appended in their place: a segment that
came back after a power cut would be read instead of it.

A compacted segment is written beside its originals as `.cleaned`. Replacing renames it to
`.swap`, the originals to `.deleted`, and then `.swap` to the final name. A crash before all
are `.swap` loses nothing but the work; after it, opening the log finishes the job.
"""

from collections.abc import Sequence
from random import randrange

from barnabas.storage.disk.fs import exists, remove_path, sync_directory
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.file_names import (
    CLEANED,
    SEGMENT_EXTENSIONS,
    SWAP,
    TRANSACTION_INDEX,
    segment_path,
)
from barnabas.storage.log.failure_channel import FailureChannel
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.mended_indexes import MendedIndexes
from barnabas.storage.log.pending_deletions import PendingDeletions
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments


class SegmentStore:
    """A log's segments, the active one among them; knows nothing of the log's offsets.

    Snapshots of the producers lie beside the segments, and come and go with them.
    """

    __slots__ = (
        "_config",
        "_directory",
        "_listener",
        "_producers",
        "active",
        "deletions",
        "failures",
        "files",
        "generation",
        "indexes",
        "segments",
        "truncations",
    )

    def __init__(
        self,
        files: FileCache,
        directory: str,
        config: LogConfig,
        segments: Segments,
        producers: ProducerState,
        indexes: MendedIndexes,
        failures: FailureChannel,
        listener: LogListener,
    ) -> None:
        self.files = files
        self._directory = directory
        self._config = config
        self._producers = producers
        self._listener = listener
        self.segments = segments
        self.indexes = indexes
        self.failures = failures
        self.deletions = PendingDeletions(
            files.fs, directory, producers, listener, config.file_delete_delay_ms
        )
        self.active = segments.last
        """The segment that appends go to."""
        self.generation = 0
        """Raised whenever segments go or are replaced: what somebody has seen of the log before
        need no longer be true."""
        self.truncations = 0

    def update_config(self, config: LogConfig) -> None:
        """Use other topic settings from now on."""
        self._config = config
        self.deletions.delay_ms = config.file_delete_delay_ms

    def relocate(self, directory: str) -> None:
        """The log's directory has another name now."""
        self._directory = directory
        self.deletions.relocate(directory)
        self.indexes.relocate(directory)
        for segment in self.segments:
            segment.relocate(directory)

    def reserve_descriptors(self) -> None:
        """To be called before anything that must not stop half-way; raises OSError."""
        self.files.reserve(self._directory)

    def new_segment(self, base_offset: int, now_ms: int) -> Segment:
        """A segment without files; when it is rolled is left to chance a little."""
        config = self._config
        most = min(config.segment_jitter_ms, config.max_segment_ms)
        jitter_ms = randrange(most) if most > 0 else 0
        return Segment(
            self.files, self._directory, base_offset, config, now_ms, roll_jitter_ms=jitter_ms
        )

    # --- going on ----------------------------------------------------------------------

    def should_roll(self, size: int, timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Would appending `size` bytes break a limit of the active segment?

        The age of a segment counts from its first batch's timestamp in terms of the new
        one's, so that a replayed topic rolls like the original. Raises OSError.
        """
        segment, config = self.active, self._config
        used = segment.size_bytes
        if used > config.segment_bytes - size:
            return True
        if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET or segment.is_index_full:
            return True
        if not used:
            return False
        first = segment.read_first_timestamp()
        age_ms = timestamp - first if first >= 0 else now_ms - segment.created_ms
        return age_ms > config.max_segment_ms - segment.roll_jitter_ms

    def roll(self, base_offset: int, now_ms: int) -> Segment:
        """Close the active segment and go on in a new one, whose files exist from now on.

        The producers' state as of the new base offset is saved beside it. A flush up to the
        new base offset is due.
        """
        try:
            if base_offset != self.active.base_offset:
                self._roll(base_offset, now_ms)
            elif self.active.size_bytes:
                raise ValueError(f"{self._directory}: segment {base_offset} already exists")
            else:
                self.active.create()
        except OSError as error:
            self.failures.fail(error)
        self._listener.rolled()
        return self.active

    def _roll(self, base_offset: int, now_ms: int) -> None:
        self._remove_leftovers(base_offset)
        self.active.finish()
        self._producers.map_end_offset = base_offset
        self._producers.take_snapshot(sync=False)
        self._producers.unsure_ends.segment_closed(self._producers.ongoing)
        segment = self.new_segment(base_offset, now_ms)
        segment.create()
        self.segments.add(segment)
        self.active = segment

    def _remove_leftovers(self, base_offset: int) -> None:
        for extension in SEGMENT_EXTENSIONS:
            remove_path(self.files.fs, segment_path(self._directory, base_offset, extension))

    # --- deleting and truncating: all raise OSError ------------------------------------

    def forget(self, segments: Sequence[Segment]) -> None:
        """Take the oldest segments out of use; their files are still to be set aside."""
        self.generation += 1
        for segment in segments:
            self.segments.remove(segment.base_offset)

    def set_aside(self, segments: Sequence[Segment], now_ms: int) -> None:
        """Have the files of forgotten segments deleted."""
        self.active.name_changes += 1  # what is flushed next outlives what comes back
        for segment in segments:
            self.deletions.set_aside(segment, now_ms)

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Drop the batches that end at or after `offset`, which some segment reaches."""
        self._cut([each for each in self.segments if each.base_offset > offset], now_ms)
        self.active = self.segments.last
        self.active.name_changes += 1  # snapshots go
        try:
            self.active.truncate_to(offset, now_ms)
        except CorruptIndex as error:
            self.indexes.mend(self.active, error)
            self.active.truncate_to(offset, now_ms)
        if self.active.exists and not self.active.size_bytes:
            # No flush follows where nothing is left, and a power cut would bring all of it back.
            self.active.log_file.open().sync()

    def start_anew(self, offset: int, now_ms: int) -> None:
        """Drop every segment and go on at `offset`."""
        self._cut(list(self.segments), now_ms)
        self.active = self.new_segment(offset, now_ms)
        self.segments.add(self.active)
        if offset:
            self.active.create()

    def _cut(self, segments: list[Segment], now_ms: int) -> None:
        self.generation += 1
        for segment in reversed(segments):
            self.segments.remove(segment.base_offset)
            self.deletions.set_aside(segment, now_ms)
        if any(segment.exists for segment in segments):
            sync_directory(self.files.fs, self._directory)
        self.truncations += 1

    # --- replacing ---------------------------------------------------------------------

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

    def replace(
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
            self._replace(sorted(new_base_offsets), old, now_ms)
            if sync:
                sync_directory(self.files.fs, self._directory)
        except OSError as error:
            self.failures.fail(error)

    def _replace(
        self, new_base_offsets: Sequence[int], old: Sequence[Segment], now_ms: int
    ) -> None:
        new = [self._cleaned_segment(base_offset, now_ms) for base_offset in new_base_offsets]
        self.generation += 1
        for segment in reversed(new):
            segment.change_suffix(CLEANED, SWAP)
        for segment in old:
            self.segments.remove(segment.base_offset)
            kept = segment.base_offset in new_base_offsets
            self.deletions.set_aside(segment, now_ms, keep_snapshot=kept)
        for segment in new:
            segment.change_suffix(SWAP, "")
            self.segments.add(segment)

    def _cleaned_segment(self, base_offset: int, now_ms: int) -> Segment:
        fs = self.files.fs
        aborted = segment_path(self._directory, base_offset, TRANSACTION_INDEX, CLEANED)
        segment = Segment(
            self.files,
            self._directory,
            base_offset,
            self._config,
            now_ms,
            suffix=CLEANED,
            has_aborted=exists(fs, aborted),
        )
        segment.attach(fs.stat(segment.log_file.path).st_size)
        return segment

    def close_files(self) -> None:
        """Give up the descriptors and nothing else, as for a directory that has failed."""
        for segment in self.segments:
            segment.close()
