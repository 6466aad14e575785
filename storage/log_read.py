"""Reading: from an offset to a stretch of a file that can be sent as it is."""

from barnabas.storage.errors import CorruptIndex, OffsetOutOfRange
from barnabas.storage.log_state import LogState
from barnabas.storage.read_result import ReadBound, ReadResult
from barnabas.storage.segment import Segment
from barnabas.storage.segment_recovery import rebuild_indexes
from barnabas.storage.transaction_index import AbortedTransaction


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

        With `min_one_message` the first batch is whole, however large (KIP-74). Raises
        OffsetOutOfRange outside of log start and log end offset.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"the log holds {self.log_start_offset} to {self.log_end_offset}",
                topic_partition=self.topic_partition,
                offset=offset,
            )
        is_committed = bound is ReadBound.LAST_STABLE
        end = self._bound_offset(bound)
        if offset >= end:
            return ReadResult(None, [] if is_committed else None)
        try:
            return self._read(offset, max_bytes, end, is_committed, min_one_message)
        except OSError as error:
            self._fail(error)

    def _bound_offset(self, bound: ReadBound) -> int:
        if bound is ReadBound.HIGH_WATERMARK:
            return self.high_watermark
        return self.last_stable_offset if bound is ReadBound.LAST_STABLE else self.log_end_offset

    def _read(
        self, offset: int, max_bytes: int, end: int, is_committed: bool, min_one_message: bool
    ) -> ReadResult:
        segment = self.segments.floor(offset)
        while segment is not None and (found := self._locate(segment, offset)) is None:
            segment = self.segments.after(segment.base_offset)
        if segment is None or found is None:
            return ReadResult(None, [] if is_committed else None)
        position, batch_bytes = found
        if min_one_message and max_bytes < batch_bytes:
            max_bytes = batch_bytes
        size = min(max_bytes, self._end_position(segment, end) - position)
        if size <= 0:
            return ReadResult(None, [] if is_committed else None)
        records = segment.slice(position, size)
        if not is_committed:
            return ReadResult(records)
        return ReadResult(records, self._aborted(segment, offset, position + size))

    def _locate(self, segment: Segment, offset: int) -> tuple[int, int] | None:
        """`Segment.locate`, with an index that turns out to be bad made anew."""
        try:
            return segment.locate(offset)
        except CorruptIndex:
            rebuild_indexes(segment)
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
        bound = segment.offset_index.first_offset_from(end_position)
        following = self.segments.after(segment.base_offset)
        if bound is None:
            bound = self.log_end_offset if following is None else following.base_offset
        found: list[AbortedTransaction] = []
        searched: Segment | None = segment
        while searched is not None and not searched.transaction_index.collect(offset, bound, found):
            searched = self.segments.after(searched.base_offset)
        return [(aborted.producer_id, aborted.first_offset) for aborted in found]
