"""The sparse time index of a segment, `<base offset>.timeindex`.

An entry, 12 bytes: int64 timestamp in ms, int32 offset less the base offset. It says: the
largest timestamp up to and including the batch that ends at this offset is this one. Both
fields rise (the offset may stay) from entry to entry. Entries are written along with those of
the offset index when the maximum has grown, and one more, the segment's maximum, when it is
rolled or closed. The file carries no checksum.
"""

from struct import Struct
from typing import Final

from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.index_file import PAGE_BYTES, IndexFile

_ENTRY: Final = Struct(">qi")
NO_TIMESTAMP: Final = -1


class TimeIndex(IndexFile):
    """Where the timestamps of a segment reach which value."""

    __slots__ = ("_is_verified", "last_offset", "last_timestamp")

    ENTRY = _ENTRY

    def __init__(self, files: FileCache, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(files, path, base_offset, max_bytes)
        self.last_timestamp = NO_TIMESTAMP
        """Timestamp of the last entry in ms; -1 while there is none."""
        self._is_verified = True
        self.last_offset = base_offset
        """Offset of the last entry; the base offset while there is none."""

    def load(self) -> None:
        super().load()
        self._is_verified = False
        self._note_last_entry()
        if not self.count:
            return
        first_timestamp = self.entry(0)[0] if self.count > 1 else self.last_timestamp
        if self.last_timestamp < first_timestamp:
            raise CorruptIndex(f"{self.file.path}: the last timestamp is below the first one")
        if first_timestamp < 0:
            raise CorruptIndex(f"{self.file.path}: the first timestamp is negative")
        if self.last_offset < self.base_offset:
            raise CorruptIndex(f"{self.file.path}: the last offset is below the base offset")

    def _note_last_entry(self) -> None:
        timestamp, relative = self.entry(self.count - 1) if self.count else (NO_TIMESTAMP, 0)
        self.last_timestamp = timestamp
        self.last_offset = self.base_offset + relative

    def start_empty(self) -> None:
        """Begin without entries, whatever the file holds."""
        self.count = self._written = 0
        self._tail.clear()
        self._file_bytes = -1
        self.writes += 1
        self._is_verified = True
        self._note_last_entry()

    @property
    def is_full(self) -> bool:
        """No room for an entry within `segment.index.bytes`, with one kept back for the roll."""
        return self.count >= self.max_entries - 1

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if `timestamp` is above the last one's."""
        if timestamp <= self.last_timestamp:
            return
        if self.count and offset < self.last_offset:
            raise ValueError(f"{self.file.path}: {offset} is below {self.last_offset}")
        self._tail += _ENTRY.pack(timestamp, offset - self.base_offset)
        self.count += 1
        self.last_timestamp = timestamp
        self.last_offset = offset
        if len(self._tail) >= PAGE_BYTES - _ENTRY.size:
            self.spill_page()

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the last entry at or below, or (-1, base offset).

        The first time all entries are looked at; CorruptIndex unless they rise.
        """
        if not self._is_verified:
            self._verify()
        entry = self.find_floor(0, timestamp)[1]
        if entry is None:
            return NO_TIMESTAMP, self.base_offset
        return entry[0], self.base_offset + entry[1]

    def _verify(self) -> None:
        timestamps, offsets = zip(*self.stored_entries(), strict=True) if self.count else ((), ())
        if sorted(set(timestamps)) != list(timestamps) or sorted(offsets) != list(offsets):
            raise CorruptIndex(f"{self.file.path}: the entries do not rise")
        self._is_verified = True

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.keep(self.find_floor(1, offset - self.base_offset - 1)[0] + 1)
        self._note_last_entry()

    def entries(self) -> list[tuple[int, int]]:
        """All entries as (timestamp, offset)."""
        return [(time, self.base_offset + offset) for time, offset in self.stored_entries()]
