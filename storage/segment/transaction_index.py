"""The aborted transactions of a segment, `<base offset>.txnindex`.

An entry, 34 bytes: int16 version 0, int64 producer id, int64 first offset, int64 last offset
(that of the abort marker, which lies in this segment), int64 last stable offset once this
transaction had ended. Entries are in the order of their markers. There is no file while
nothing was aborted, and the few entries there are stay in memory once read.
"""

from struct import Struct
from typing import Final, NamedTuple

from barnabas.storage.disk.open_files import CachedFile, FileCache
from barnabas.storage.errors import CorruptIndex

ENTRY: Final = Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """One aborted transaction of one producer in one partition; it travels to compactions."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions whose markers lie in one segment."""

    __slots__ = ("_entries", "base_offset", "exists", "file", "fs")

    def __init__(self, files: FileCache, path: str, base_offset: int, *, exists: bool) -> None:
        self.file = CachedFile(files, path)
        self.fs = files.fs
        self.base_offset = base_offset
        self.exists = exists
        self._entries: list[AbortedTransaction] | None = None if exists else []

    def entries(self) -> list[AbortedTransaction]:
        """All entries; CorruptIndex if the file cannot be an index of this segment."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> list[AbortedTransaction]:
        size = self.file.size()
        data = self.file.open().read_fully(size - size % ENTRY.size, 0)
        entries = []
        for version, *fields in ENTRY.iter_unpack(data):
            if version != 0:
                raise CorruptIndex(f"{self.file.path}: entry of unknown version {version}")
            entry = AbortedTransaction(*fields)
            if entry.last_offset < self.base_offset:
                raise CorruptIndex(f"{self.file.path}: {entry} ends before the segment")
            entries.append(entry)
        return entries

    def append(self, entry: AbortedTransaction) -> None:
        """Add an aborted transaction; its marker must lie behind all others'."""
        entries = self.entries()
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise ValueError(f"{self.file.path}: {entry} does not come after {entries[-1]}")
        packed = ENTRY.pack(
            0, entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
        )
        opened = self.file.create()
        self.exists = True
        opened.write(packed, len(entries) * ENTRY.size)
        entries.append(entry)

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker is at or above `offset`."""
        kept = [entry for entry in self.entries() if entry.last_offset < offset]
        if len(kept) < len(self.entries()):
            self.file.open().truncate(len(kept) * ENTRY.size)
            self._entries = kept

    def reset(self) -> None:
        """Drop everything, also what cannot be read or is gone."""
        if self.exists:
            self.file.create().truncate(0)
        self._entries = []

    def collect(self, fetch_offset: int, upper_bound: int, found: list[AbortedTransaction]) -> bool:
        """Add the transactions that matter to a read of [fetch_offset, upper_bound).

        True if no later segment can hold another one: a transaction had ended whose last
        stable offset already lay at or past the bound.
        """
        for entry in self.entries():
            if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                return True
        return False

    def close(self) -> None:
        """Give up the descriptor."""
        self.file.close()
