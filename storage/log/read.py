"""Reading: from an offset to a stretch of a file that can be sent as it is."""

from barnabas.storage.errors import CorruptIndex
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.results import ReadResult
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.segment.index_checks import check_offset_entry
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction


class LogReader:
    """Reads the segments of one log."""

    __slots__ = ("_offsets", "_store")

    def __init__(self, offsets: LogOffsets, store: SegmentStore) -> None:
        self._offsets = offsets
        self._store = store

    def read(
        self, offset: int, end: int, max_bytes: int, min_one_message: bool, with_aborted: bool
    ) -> ReadResult:
        """Find up to `max_bytes` from the batch that holds `offset` on, below `end`.

        `offset` lies in the log, and `end` above it. With `with_aborted` the result names
        the aborted transactions that may have records there.
        """
        store = self._store
        try:
            segment: Segment | None = store.active
            if offset < store.active.base_offset:
                segment = store.segments.floor(offset)
            while segment is not None and (found := store.indexes.locate(segment, offset)) is None:
                segment = store.segments.after(segment.base_offset)
            if segment is None or found is None:
                return nothing(with_aborted)
            position, first_size = found
            size = first_size
            if max_bytes > size or not min_one_message:
                size = max_bytes
            most = segment.size_bytes
            if end != self._offsets.end:
                most = self._end_position(segment, end)
            most -= position
            if size > most:
                size = most
            if size <= 0:
                return nothing(with_aborted)
            records = segment.slice(position, size)
            incomplete = size < first_size
            if not with_aborted:
                return ReadResult(records, None, incomplete)
            aborted = self._aborted(segment, offset, position + size)
            return ReadResult(records, aborted, incomplete)
        except OSError as error:
            store.failures.fail(error)

    def _end_position(self, segment: Segment, end: int) -> int:
        """Position in the segment of the first batch that is out of bounds."""
        following = self._store.segments.after(segment.base_offset)
        if following is not None and following.base_offset <= end:
            return segment.size_bytes
        found = self._store.indexes.locate(segment, end)
        return segment.size_bytes if found is None else found[0]

    def _aborted(self, segment: Segment, offset: int, end_position: int) -> list[tuple[int, int]]:
        """The aborted transactions that may have records in the stretch."""
        following = self._store.segments.starting_with(segment)
        indexes = [each.transaction_index for each in following]
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
            self._store.indexes.mend(segment, error)
            entry = segment.offset_index.first_entry_from(end_position)
        if entry is not None:
            return entry[0]
        following = self._store.segments.after(segment.base_offset)
        return self._offsets.end if following is None else following.base_offset


def nothing(with_aborted: bool) -> ReadResult:
    """The answer where there is nothing to read, or nothing yet."""
    return ReadResult(None, [] if with_aborted else None)
