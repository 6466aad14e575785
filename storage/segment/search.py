"""Finding things in a segment's `.log` file, from the offset index or from its ends."""

from struct import Struct
from typing import Final

from barnabas.storage.batch.header import NO_TIMESTAMP
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptBatch, CorruptIndex
from barnabas.storage.segment.files import SegmentFiles
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET

UNKNOWN: Final = -2
"""A timestamp that has to be looked up first."""
_LOCATE: Final = Struct(">qi4xb6xi")
"""Of a batch's header: offset, size behind byte 12, magic, last offset delta."""
_LOCATE_BYTES: Final = _LOCATE.size
_ONE_HEADER_BYTES: Final = 64
_MANY_HEADERS_BYTES: Final = 4096
_LARGE_BYTES: Final = 1024
"""Batches above this are visited header by header."""
_SMALLEST_SIZE: Final = 14
_locate: Final = _LOCATE.unpack_from


class SegmentSearch(SegmentFiles):
    """Searching a segment.

    `tail_offset`, `tail_end_offset` (behind it) and `tail_position` are those of the last batch
    appended: most readers want that one, and need not look into the file for it. Nothing
    reaches `tail_offset` while it is not known.
    """

    __slots__ = ("first_timestamp", "tail_end_offset", "tail_offset", "tail_position")

    def __init__(
        self,
        files: FileCache,
        directory: str,
        base_offset: int,
        index_bytes: int,
        suffix: str,
        has_aborted: bool,
    ) -> None:
        super().__init__(files, directory, base_offset, index_bytes, suffix, has_aborted)
        self.first_timestamp = UNKNOWN
        self.tail_offset = base_offset
        self.tail_end_offset = base_offset
        self.tail_position = 0

    def locate(self, offset: int) -> tuple[int, int] | None:
        """(position, size) of the first batch that ends at or after `offset`, if there is one.

        Raises CorruptIndex if the index has led past the offset or between batches.
        """
        if offset >= self.tail_offset:
            if offset >= self.tail_end_offset:
                return None
            return self.tail_position, self.size_bytes - self.tail_position
        if not self._indexes_loaded:
            self._load_indexes()
        position = self._offset_index.position_for(offset)
        if not 0 <= position <= self.size_bytes:
            raise self._misled(position, position)
        start = position
        file = self.log_file
        opened = file.opened or file.open()
        file.used = True
        end, wanted = self.size_bytes, _ONE_HEADER_BYTES
        while position < end:
            chunk = opened.read(wanted, position)
            if len(chunk) < _LOCATE_BYTES:
                chunk = chunk.ljust(_LOCATE_BYTES, b"\0")
            at, limit = 0, len(chunk) - _LOCATE_BYTES
            if limit >= end - position:
                limit = end - position - 1
            while at <= limit:
                base, size, magic, delta = _locate(chunk, at)
                found = position + at
                if (base + delta if magic == 2 else base) >= offset:
                    if (
                        not 0 <= magic <= 2
                        or not _SMALLEST_SIZE <= size <= end - found - 12
                        or base - self.base_offset > MAX_RELATIVE_OFFSET
                        or (base > offset and magic == 2 and found == start > 0)
                    ):
                        raise self._misled(start, found)
                    return found, size + 12
                if size < _SMALLEST_SIZE:
                    raise self._misled(start, found)
                at += size + 12
            position += at
            wanted = _ONE_HEADER_BYTES if size > _LARGE_BYTES else _MANY_HEADERS_BYTES
        if position > end:
            raise self._misled(start, position)
        return None

    def _misled(self, start: int, position: int) -> CorruptIndex | CorruptBatch:
        """Either the index has led astray, or what lies there is no batch."""
        if start:
            return CorruptIndex(f"{self._offset_index.file.path}: no batch at position {position}")
        return CorruptBatch(f"{self.log_file.path}: no batch at position {position}")

    def read_next_offset(self) -> int:
        """The offset after the last batch; CorruptBatch if the end of the file is no batch."""
        start = self.offset_index.lookup(self.base_offset + MAX_RELATIVE_OFFSET)[1]
        next_offset = self.base_offset
        if self.size_bytes:
            opened = self.log_file.open()
            for _, header, _ in read_batches(opened, start, self.size_bytes, 64 << 10):
                next_offset = header.next_offset
        return next_offset

    def read_first_timestamp(self) -> int:
        """Largest timestamp of the first batch, read once; -1 if there is none."""
        if self.first_timestamp == UNKNOWN:
            if not self.size_bytes:
                return NO_TIMESTAMP
            found = next(read_batches(self.log_file.open(), 0, self.size_bytes, 4096))
            self.first_timestamp = found[1].max_timestamp
        return self.first_timestamp
