"""When and how a log goes on in a new segment."""

from barnabas.storage.disk.fs import remove_path
from barnabas.storage.file_names import SEGMENT_EXTENSIONS, segment_path
from barnabas.storage.log.log_offsets import LogOffsets
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment


class LogRoll(LogOffsets):
    """Rolling."""

    __slots__ = ()

    def _should_roll(
        self, segment: Segment, size: int, timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        """Would appending `size` bytes break a limit of the active segment?

        The age of a segment counts from its first batch's timestamp in terms of the new
        one's, so that a replayed topic rolls like the original.
        """
        used = segment.size_bytes
        if used > self._segment_bytes - size:
            return True
        if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET or segment.is_index_full:
            return True
        if not used:
            return False
        first = segment.read_first_timestamp()
        age_ms = timestamp - first if first >= 0 else now_ms - segment.created_ms
        return age_ms > self._segment_ms - segment.roll_jitter_ms

    def roll(self, now_ms: int, expected_offset: int = 0) -> Segment:
        """Close the active segment and go on in a new one, whose files exist from now on.

        The producers' state as of the new base offset is saved beside it. The recovery point
        stays: a flush up to the new base offset is due.
        """
        base_offset = max(expected_offset, self.log_end_offset)
        try:
            if base_offset != self._active.base_offset:
                return self._roll(base_offset, now_ms)
            if self._active.size_bytes:
                raise ValueError(f"{self.topic_partition}: segment {base_offset} already exists")
            self._active.create()
            return self._active
        except OSError as error:
            self._fail(error)

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        self._remove_leftovers(base_offset)
        self._active.finish()
        segment = self._new_segment(base_offset, now_ms)
        segment.create()
        self.segments.add(segment)
        self._active = segment
        self.producers.map_end_offset = base_offset
        self.producers.take_snapshot(sync=False)
        return segment

    def _remove_leftovers(self, base_offset: int) -> None:
        for extension in SEGMENT_EXTENSIONS:
            remove_path(self.fs, segment_path(self.directory, base_offset, extension))
