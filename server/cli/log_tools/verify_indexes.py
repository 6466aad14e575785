"""Do a segment's indexes say what its batches say?

An index entry has to name the start of a batch, and no batch before it may hold the offset or
a later one. A time index entry has to name a batch with that timestamp, which none up to it
exceeds. Entries may be missing, for indexes are sparse; but a closed segment's time index ends
with its largest timestamp.
"""

from barnabas.server.cli.log_tools.files import LogFile
from barnabas.server.cli.log_tools.problems import Problem, Problems
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.time_index import TimeIndex

ANY_SIZE = 1 << 62
Entries = list[tuple[int, int]]


def load_entries(kind: type[OffsetIndex] | type[TimeIndex], file: LogFile) -> Entries:
    """The entries of an index file. Raises CorruptIndex, or OSError."""
    index = kind(FileCache(READ_ONLY), str(file.path), file.base_offset, ANY_SIZE)
    index.load()
    entries = index.entries()
    index.close()
    return entries


class OffsetIndexCheck:
    """The offset index of one segment."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._entries, self._damage = _loaded(OffsetIndex, file)
        self._next = 0
        for slot, (before, after) in enumerate(zip(self._entries, self._entries[1:], strict=False)):
            if after[0] <= before[0] or after[1] <= before[1]:
                self._damage = f"entry {slot + 1} does not rise above the one before it"
                self._entries = []
                break

    def see(self, position: int, header: BatchHeader, chunk: bytes) -> Problems:
        """The next batch of the segment."""
        while self._next < len(self._entries):
            offset, place = self._entries[self._next]
            if place > position:
                return
            self._next += 1
            if place < position:
                yield self._problem(f"offset {offset} is said to be inside a batch", place)
            elif offset < header.base_offset:
                yield self._problem(
                    f"offset {offset} is said to be where {header.base_offset} is", place
                )

    def finish(self) -> Problems:
        """Whatever has not been found by now is behind the end of the segment."""
        if self._damage is not None:
            yield self._problem(self._damage)
        for offset, place in self._entries[self._next :][:1]:
            yield self._problem(f"offset {offset} is said to be behind the end of the log", place)

    def _problem(self, reason: str, place: int | None = None) -> Problem:
        place_said = "" if place is None else f" at {place}"
        return Problem(self._file.name, f"the index does not fit the log: {reason}{place_said}")


class TimeIndexCheck:
    """The time index of one segment."""

    def __init__(self, file: LogFile, *, is_closed: bool) -> None:
        self._file = file
        self._is_closed = is_closed
        self._entries, self._damage = _loaded(TimeIndex, file)
        self._next = 0
        self._largest = -1
        for slot, (before, after) in enumerate(zip(self._entries, self._entries[1:], strict=False)):
            if after[0] <= before[0] or after[1] < before[1]:
                self._damage = f"entry {slot + 1} does not rise above the one before it"
                self._entries = []
                break

    def see(self, position: int, header: BatchHeader, chunk: bytes) -> Problems:
        """The next batch of the segment."""
        self._largest = max(self._largest, header.max_timestamp)
        while self._next < len(self._entries):
            timestamp, offset = self._entries[self._next]
            if offset > header.last_offset:
                return
            self._next += 1
            if header.magic == MAGIC_V2 and offset < header.base_offset:
                yield self._problem(f"there is no offset {offset}")
            elif timestamp != header.max_timestamp:
                yield self._problem(
                    f"offset {offset} has timestamp {header.max_timestamp}, not {timestamp}"
                )
            elif timestamp < self._largest:
                yield self._problem(f"up to offset {offset} there is a larger one than {timestamp}")

    def finish(self) -> Problems:
        """Whatever has not been found by now is behind the end of the segment."""
        if self._damage is not None:
            yield self._problem(self._damage)
            return
        for _, offset in self._entries[self._next :][:1]:
            yield self._problem(f"there is no offset {offset}")
        last = self._entries[-1][0] if self._entries else -1
        if self._is_closed and last < self._largest:
            yield self._problem(f"it ends with {last}, the segment's largest is {self._largest}")

    def _problem(self, reason: str) -> Problem:
        return Problem(self._file.name, f"the time index does not fit the log: {reason}")


def _loaded(kind: type[OffsetIndex] | type[TimeIndex], file: LogFile) -> tuple[Entries, str | None]:
    try:
        return load_entries(kind, file), None
    except CorruptIndex as error:
        return [], error.reason.removeprefix(f"{file.path}: ")
