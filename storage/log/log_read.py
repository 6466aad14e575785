"""Reading: from an offset to a stretch of a file that can be sent as it is."""

from typing import Final

from barnabas.storage.errors import CorruptIndex, OffsetOutOfRange
from barnabas.storage.log.log_state import LogState
from barnabas.storage.log.results import ReadBound, ReadResult
from barnabas.storage.segment.index_checks import check_offset_entry
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction

_HIGH_WATERMARK: Final = ReadBound.HIGH_WATERMARK
_LAST_STABLE: Final = ReadBound.LAST_STABLE


class LogRead(LogState):
    """Reading."""

    __slots__ = ()

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        bound: ReadBound = ReadBound.HIGH_WATERMARK,
        min_one_message: bool = True,
    ) -> ReadResult:
        """Find up to `max_bytes` from the batch that holds `offset` on, below `bound`.

        With `min_one_message` the first batch is whole, however large (KIP-74); without it the
        result says if not even that one is. Raises OffsetOutOfRange outside of log start and
        log end offset.
        """
        if bound is _HIGH_WATERMARK:
            end = self.high_watermark
        else:
            end = self.last_stable_offset if bound is _LAST_STABLE else self.log_end_offset
        if not self.log_start_offset <= offset < end:
            return self._nothing(offset, bound)
        try:
            segment: Segment | None = self._active
            if offset < self._active.base_offset:
                segment = self.segments.floor(offset)
            while segment is not None and (found := self._locate(segment, offset)) is None:
                segment = self.segments.after(segment.base_offset)
            if segment is None or found is None:
                return self._nothing(offset, bound)
            position, first_size = found
            size = first_size
            if max_bytes > size or not min_one_message:
                size = max_bytes
            most = self._end_position(segment, end) - position
            if size > most:
                size = most
            if size <= 0:
                return self._nothing(offset, bound)
            records = segment.slice(position, size)
            incomplete = size < first_size
            if bound is not _LAST_STABLE:
                return ReadResult(records, None, incomplete)
            aborted = self._aborted(segment, offset, position + size)
            return ReadResult(records, aborted, incomplete)
        except OSError as error:
            self._fail(error)

    def _nothing(self, offset: int, bound: ReadBound) -> ReadResult:
        """The answer where there is nothing to read, or nothing yet."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"the log holds {self.log_start_offset} to {self.log_end_offset}",
                topic_partition=self.topic_partition,
                offset=offset,
            )
        return ReadResult(None, [] if bound is _LAST_STABLE else None)

    def _locate(self, segment: Segment, offset: int) -> tuple[int, int] | None:
        """`Segment.locate`, with an index that turns out to be bad made anew."""
        try:
            return segment.locate(offset)
        except (CorruptIndex, FileNotFoundError) as error:
            self._mend(segment, error)
            return segment.locate(offset)

    def _end_position(self, segment: Segment, end: int) -> int:
        """Position in the segment of the first batch that is out of bounds."""
        if end == self.log_end_offset:
            return segment.size_bytes
        following = self.segments.after(segment.base_offset)
        if following is not None and following.base_offset <= end:
            return segment.size_bytes
        found = self._locate(segment, end)
        return segment.size_bytes if found is None else found[0]

    def _aborted(self, segment: Segment, offset: int, end_position: int) -> list[tuple[int, int]]:
        """The aborted transactions that may have records in the stretch."""
        indexes = [each.transaction_index for each in self.segments.starting_with(segment)]
        indexes = [index for index in indexes if index.exists]
        if not indexes:
            return []
        bound = self._upper_bound(segment, end_position)
        found: list[AbortedTransaction] = []
        for index in indexes:
            if index.collect(offset, bound, found):
                break
        return [(aborted.producer_id, aborted.first_offset) for aborted in found]

    def _upper_bound(self, segment: Segment, end_position: int) -> int:
        """An offset above all those before a position, from the index."""
        try:
            entry = segment.offset_index.first_entry_from(end_position)
            if entry is not None:
                check_offset_entry(segment, *entry)
        except CorruptIndex as error:
            self._mend(segment, error)
            entry = segment.offset_index.first_entry_from(end_position)
        if entry is not None:
            return entry[0]
        following = self.segments.after(segment.base_offset)
        return self.log_end_offset if following is None else following.base_offset
