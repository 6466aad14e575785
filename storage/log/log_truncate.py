"""Taking records away at either end of a log.

What is cut from the end goes from the end on, so that a crash half-way leaves no gap, and what
whole segments have gone is durable before anything is appended in their place: a segment that
came back after a power cut would be read instead of it.
"""

from barnabas.storage.batch.header import MAX_OFFSET
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.errors import CorruptIndex, OffsetOutOfRange
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.log.log_cleanup import LogCleanup
from barnabas.storage.segment.segment import Segment


class LogTruncate(LogCleanup):
    """Truncation, and raising the log start offset."""

    __slots__ = ()

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Drop everything from `offset` on, as a follower whose tail its leader lacks.

        A batch that reaches across `offset` goes as a whole. False if the log ended before.
        """
        if offset < 0:
            raise ValueError(f"{self.topic_partition}: truncation to offset {offset}")
        try:
            if offset >= self.log_end_offset:
                self.epochs.truncate_from_end(self.log_end_offset)
                self.epochs.write()
                return False
            if offset < self.segments.first.base_offset:
                self.truncate_fully_and_start_at(offset, now_ms)
            else:
                self._truncate_to(offset, now_ms)
        except OSError as error:
            self._fail(error)
        return True

    def _before_truncation(self, offset: int) -> None:
        """Nothing is cut yet: whoever has noted offsets above this one takes them back."""

    def _cut(self, segments: list[Segment], now_ms: int) -> None:
        self.generation += 1
        for segment in reversed(segments):
            self.segments.remove(segment.base_offset)
            self._set_aside(segment, now_ms)
        if any(segment.exists for segment in segments):
            sync_directory(self.fs, self.directory)
        self.truncations += 1

    def _truncate_to(self, offset: int, now_ms: int) -> None:
        self._before_truncation(offset)
        self._cut([each for each in self.segments if each.base_offset > offset], now_ms)
        self._active = self.segments.last
        self._active.name_changes += 1  # snapshots go
        try:
            self._active.truncate_to(offset, now_ms)
        except CorruptIndex as error:
            self._mend(self._active, error)
            self._active.truncate_to(offset, now_ms)
        self.log_end_offset = offset
        # The next flush has to sync the cut as well, whatever has been rolled until then.
        self.recovery_point = min(self.recovery_point, self._active.base_offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.epochs.truncate_from_end(offset)
        self.epochs.write()
        self._rebuild_producers(now_ms)
        self.update_high_watermark(min(self.high_watermark, offset))
        self._update_first_unstable_offset()

    def _rebuild_producers(self, now_ms: int) -> None:
        rebuild_producers(
            self.producers,
            self.segments,
            self.log_start_offset,
            self.log_end_offset,
            now_ms,
            self.producer_id_expiration_ms,
        )
        for damage in self.producers.damages:
            self._say(damage)
        self.producers.damages.clear()

    def truncate_fully_and_start_at(
        self, offset: int, now_ms: int, *, log_start_offset: int | None = None
    ) -> None:
        """Drop every record; the next one will have `offset`.

        Raises OffsetOutOfRange unless that is one a log can end at.
        """
        if not 0 <= offset <= MAX_OFFSET + 1:
            raise OffsetOutOfRange(
                "no log can begin there", topic_partition=self.topic_partition, offset=offset
            )
        start = offset if log_start_offset is None else log_start_offset
        try:
            self._before_truncation(min(offset, start))
            self._cut(list(self.segments), now_ms)
            self._active = self._new_segment(offset, now_ms)
            self.segments.add(self._active)
            if offset:
                self._active.create()
            self.epochs.clear()
            self.epochs.write()
            self.producers.start_at(offset)
            self.log_end_offset = self.recovery_point = offset
            self.log_start_offset = start
            self._rebuild_producers(now_ms)
            self.high_watermark = offset
            self._update_first_unstable_offset()
        except OSError as error:
            self._fail(error)

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Let the log begin at `offset` (DeleteRecords); False if it begins there or later.

        Whole segments below go when `delete_old_segments` is next called. Raises
        OffsetOutOfRange above the high watermark.
        """
        if offset > self.high_watermark:
            raise OffsetOutOfRange(
                f"above the high watermark {self.high_watermark}",
                topic_partition=self.topic_partition,
                offset=offset,
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start_offset(offset)
        self._update_first_unstable_offset()
        try:
            self.epochs.write()
        except OSError as error:
            self._fail(error)
        return True
