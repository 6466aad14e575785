"""The sparse offset index of a segment, `<base offset>.index`.

An entry, 8 bytes: int32 offset less the base offset, int32 position in the `.log` file; both
rise from entry to entry. The entry for a set of batches appended at `position` holds the
set's *last* offset; one is written once more than `index.interval.bytes` have been appended
since the one before. Nothing at position 0 is ever indexed. The file carries no checksum.
"""

from struct import Struct
from typing import Final

from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.index_file import PAGE_BYTES, IndexFile

_ENTRY: Final = Struct(">ii")
_ENTRY_BYTES: Final = _ENTRY.size
_WINDOW_ENTRIES: Final = 32
_HALF_WINDOW: Final = _WINDOW_ENTRIES // 2
_WINDOW_BYTES: Final = _WINDOW_ENTRIES * _ENTRY_BYTES
_unpack: Final = _ENTRY.unpack_from

MAX_RELATIVE_OFFSET: Final = 0x7FFFFFFF
MAX_POSITION: Final = 0x7FFFFFFF


class OffsetIndex(IndexFile):
    """Where to start reading for an offset."""

    __slots__ = ("last_offset", "last_position")

    ENTRY = _ENTRY

    def __init__(self, files: FileCache, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(files, path, base_offset, max_bytes)
        self.last_offset = base_offset
        """Offset of the last entry; the base offset while there is none."""
        self.last_position = 0

    def load(self) -> None:
        super().load()
        self._note_last_entry()
        if self.count and self.last_offset <= self.base_offset:
            raise CorruptIndex(
                f"{self.file.path}: last offset {self.last_offset} is not above the base offset"
            )

    def _note_last_entry(self) -> None:
        relative, self.last_position = self.entry(self.count - 1) if self.count else (0, 0)
        self.last_offset = self.base_offset + relative

    def start_empty(self) -> None:
        """Begin without entries, whatever the file holds."""
        self.count = self._written = 0
        self._tail.clear()
        self._file_bytes = -1
        self.writes += 1
        self.last_offset, self.last_position = self.base_offset, 0

    @property
    def is_full(self) -> bool:
        """No room for another entry within `segment.index.bytes`."""
        return self.count >= self.max_entries

    def append(self, offset: int, position: int) -> None:
        """Add an entry; its offset must be above the last one's."""
        if self.count and offset <= self.last_offset:
            raise ValueError(f"{self.file.path}: {offset} is not above {self.last_offset}")
        self._tail += _ENTRY.pack(offset - self.base_offset, position)
        self.count += 1
        self.last_offset, self.last_position = offset, position
        if len(self._tail) >= PAGE_BYTES:
            self.spill_page()

    def lookup(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last entry at or below `offset`, or (base offset, 0)."""
        entry = self.find_floor(0, offset - self.base_offset)[1]
        if entry is None:
            return self.base_offset, 0
        return self.base_offset + entry[0], entry[1]

    def position_for(self, offset: int) -> int:
        """Where in the `.log` file to start looking for `offset`.

        Offsets and positions grow about evenly, so one short read where the entry should then
        be usually finds it; otherwise the index is searched.
        """
        target = offset - self.base_offset
        count = self._written
        if count <= _WINDOW_ENTRIES or self._tail:
            return self.lookup(offset)[1]
        start = target * count // (self.last_offset - self.base_offset + 1) - _HALF_WINDOW
        if start > count - _WINDOW_ENTRIES:
            start = count - _WINDOW_ENTRIES
        if start < 0:
            start = 0
        file = self.file
        window = (file.opened or file.open()).read(_WINDOW_BYTES, start * _ENTRY_BYTES)
        if len(window) < _WINDOW_BYTES or _unpack(window)[0] > target:
            return self.lookup(offset)[1]
        low, high = 1, _WINDOW_ENTRIES
        while low < high:
            middle = (low + high) >> 1
            if _unpack(window, middle * _ENTRY_BYTES)[0] <= target:
                low = middle + 1
            else:
                high = middle
        if low == _WINDOW_ENTRIES and start + low < count:
            return self.lookup(offset)[1]
        position: int = _unpack(window, low * _ENTRY_BYTES - _ENTRY_BYTES)[1]
        return position

    def first_entry_from(self, position: int) -> tuple[int, int] | None:
        """(offset, position) of the first entry at or beyond a file position, if there is one."""
        slot = self.find_floor(1, position - 1)[0] + 1
        if slot >= self.count:
            return None
        relative, found = self.entry(slot)
        return self.base_offset + relative, found

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.keep(self.find_floor(0, offset - self.base_offset - 1)[0] + 1)
        self._note_last_entry()

    def entries(self) -> list[tuple[int, int]]:
        """All entries as (offset, position)."""
        return [(self.base_offset + offset, place) for offset, place in self.stored_entries()]
