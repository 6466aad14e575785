"""A file of fixed-width entries in rising order: what the offset and the time index share.

Entries are appended to a small tail in memory and written out a page at a time, at the latest
when the segment is flushed, rolled or closed. A crash may lose the tail: every segment that
was not closed cleanly is scanned when the log is opened, and its indexes are made anew.
Lookups read pages with `pread`, so that an unreadable index is an error and not a signal.

Apache Kafka preallocates the index files of its active segments and leaves them zero-filled
when it is killed. No entry consists of zeros alone, so trailing ones are not counted.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, ClassVar, Final

from barnabas.storage.disk.open_files import CachedFile, FileCache
from barnabas.storage.errors import CorruptIndex, is_out_of_descriptors

Unpack = Callable[[bytes | bytearray, int], tuple[Any, ...]]

PAGE_BYTES: Final = 4096


def floor_slot(
    entries: bytes | bytearray, count: int, width: int, unpack: Unpack, field: int, target: int
) -> int:
    """The last of `count` entries whose `field` is at most `target`; -1 if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if unpack(entries, middle * width)[field] <= target:
            low = middle + 1
        else:
            high = middle
    return low - 1


class IndexFile:
    """Entries in a file, plus a tail of entries that were not written yet."""

    __slots__ = (
        "_file_bytes", "_tail", "_written", "base_offset", "count", "file", "fs", "max_entries",
        "synced_writes", "writes",
    )  # fmt: skip

    ENTRY: ClassVar[Struct]

    def __init__(self, files: FileCache, path: str, base_offset: int, max_bytes: int) -> None:
        self.file = CachedFile(files, path)
        self.fs = files.fs
        self.base_offset = base_offset
        self.max_entries = max_bytes // self.ENTRY.size
        self._tail = bytearray()
        self._written = 0
        self._file_bytes = -1
        """How long the file is; -1 while that is not known."""
        self.count = 0
        self.writes = 0
        """How often the file was changed."""
        self.synced_writes = 0
        """What `writes` was when a sync of the file that has ended was begun."""

    @property
    def is_unsynced(self) -> bool:
        """Whether the file holds anything that no sync covers."""
        return self.synced_writes < self.writes

    def load(self) -> None:
        """Count the entries of an existing file; CorruptIndex if it cannot be an index."""
        size = self.file.size()
        if size % self.ENTRY.size:
            raise CorruptIndex(f"{self.file.path}: {size} bytes are not whole entries")
        self._file_bytes = size
        self._written = self.count = self._used_entries(size // self.ENTRY.size)
        self._tail.clear()

    def _used_entries(self, count: int) -> int:
        """How many entries come before the zeros at the end, if any."""
        if count == 0 or any(self._read_slot(count - 1)):
            return count
        low, high = 0, count - 1
        while low < high:
            middle = (low + high) >> 1
            if any(self._read_slot(middle)):
                low = middle + 1
            else:
                high = middle
        return low

    def _read_slot(self, slot: int) -> bytes:
        return self.file.open().read(self.ENTRY.size, slot * self.ENTRY.size)

    def entry(self, slot: int) -> tuple[int, ...]:
        """The fields of one entry as they are stored."""
        written = self._written
        if slot >= written:
            return self.ENTRY.unpack_from(self._tail, (slot - written) * self.ENTRY.size)
        return self.ENTRY.unpack_from(self._read_slot(slot), 0)

    def stored_entries(self) -> list[tuple[int, ...]]:
        """The fields of every entry as they are stored."""
        width = self.ENTRY.size
        data = b""
        if self._written:
            data = self.file.open().read_fully(self._written * width, 0)
        data += bytes(self._tail)
        return [self.ENTRY.unpack_from(data, slot * width) for slot in range(self.count)]

    def find_floor(self, field: int, target: int) -> tuple[int, tuple[int, ...] | None]:
        """The last entry whose `field` is at most `target`: its slot (-1: none) and fields."""
        if not self.count:
            return -1, None
        written = self._written
        if self._tail:
            width = self.ENTRY.size
            slot = floor_slot(
                self._tail, self.count - written, width, self.ENTRY.unpack_from, field, target
            )
            if slot >= 0:
                return written + slot, self.ENTRY.unpack_from(self._tail, slot * width)
        return self._find_floor_in_file(field, target) if written else (-1, None)

    def _find_floor_in_file(self, field: int, target: int) -> tuple[int, tuple[int, ...] | None]:
        """Halve the pages until one holds the entry; a short file is a single page."""
        file = self.file
        opened = file.opened or file.open()
        file.used = True
        width, unpack = self.ENTRY.size, self.ENTRY.unpack_from
        per_page = PAGE_BYTES // width
        low, high = 0, self._written
        while high - low > per_page:
            pages = -(-(high - low) // per_page)
            first = low + (pages >> 1) * per_page
            if unpack(opened.read(width, first * width), 0)[field] <= target:
                low = first
            else:
                high = first
        page = opened.read((high - low) * width, low * width)
        slot = floor_slot(page, high - low, width, unpack, field, target)
        if slot < 0:
            return -1, None
        return low + slot, unpack(page, slot * width)

    def spill(self) -> None:
        """Write the tail to the file."""
        if not self._tail:
            return
        position = self._written * self.ENTRY.size
        tail = bytes(self._tail)
        end = max(self._file_bytes, position + len(tail)) if self._file_bytes >= 0 else -1
        self._file_bytes = -1
        (self.file.opened or self.file.create()).write(tail, position)
        self._written = self.count
        self._tail.clear()
        self._file_bytes = end
        self.writes += 1

    def spill_page(self) -> None:
        """`spill`, which can be done later where no descriptor is left.

        The batch that the last entry speaks of is in the `.log` by now: to refuse it would leave
        the entry of a batch that is not there.
        """
        try:
            self.spill()
        except OSError as error:
            if not is_out_of_descriptors(error):
                raise

    def trim(self) -> bool:
        """Write the tail and cut the file to its entries, making it if it is missing.

        False if there was nothing to do.
        """
        changes = len(self._tail) > 0
        self.spill()
        size = self._written * self.ENTRY.size
        if self._file_bytes == size:
            return changes
        opened = self.file.create()
        if opened.size_bytes() != size:
            opened.truncate(size)
            self.writes += 1
            changes = True
        self._file_bytes = size
        return changes

    def keep(self, count: int) -> None:
        """Drop all entries but the first `count`."""
        if count >= self.count:
            return
        if count >= self._written:
            del self._tail[(count - self._written) * self.ENTRY.size :]
        else:
            self._tail.clear()
            self._written = count
            self.file.create().truncate(count * self.ENTRY.size)
            self._file_bytes = count * self.ENTRY.size
            self.writes += 1
        self.count = count

    def close(self) -> None:
        """Give up the descriptor; call `trim` first to keep the tail."""
        self.file.close()
