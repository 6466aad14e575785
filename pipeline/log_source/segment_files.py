"""The files of one partition's directory, looked at and never touched.

Every call goes through `READ_ONLY`, whose writing functions refuse. A live broker rolls, compacts
and deletes segments meanwhile, so a file is known by its inode: a compaction gives the same name
to another file, and what is deleted keeps its inode under `<name>.deleted` for a minute.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from struct import error
from typing import Final

from barnabas.pipeline.log_source.errors import DamagedSegment
from barnabas.storage.batch.header import V2_HEADER_BYTES, BatchHeader, parse_header
from barnabas.storage.batch.reader import CHUNK_BYTES, FoundBatch, read_batches
from barnabas.storage.disk.fs import READ, read_file
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.disk.read_only import read_only
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.file_names import CLEANED, DELETED, INDEX, LOG, SWAP, base_offset_of
from barnabas.storage.loading.leftovers import clean_up
from barnabas.storage.segment.offset_index import OffsetIndex

_LISTINGS: Final = 20
_ONLY_READS: Final = "barnabas-log only reads"


def _open_to_read(path: str, flags: int, mode: int) -> int:
    if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
        raise OSError(errno.EROFS, _ONLY_READS, path)
    return os.open(path, flags, mode)


READ_ONLY: Final = read_only(_open_to_read, _ONLY_READS)
_ON_PAPER: Final = replace(READ_ONLY, rename=lambda old, new: None, unlink=lambda path: None)
"""On which a broker's cleaning up at a start changes names in memory only."""


@dataclass(frozen=True)
class SegmentFile:
    """A `.log` file as it was when it was listed."""

    path: str
    base_offset: int
    size_bytes: int
    inode: int

    def open(self) -> OpenFile | None:
        """That very file, also after it was deleted; None once it is gone or another's."""
        for path in (self.path, self.path + DELETED, self.path.removesuffix(SWAP)):
            with suppress(FileNotFoundError):
                opened = OpenFile(READ_ONLY, READ_ONLY.open(path, READ, 0))
                if READ_ONLY.fstat(opened.fd).st_ino == self.inode:
                    return opened
        return None

    def beside(self, extension: str) -> str:
        """The path of one of its indexes."""
        stem, _, suffix = self.path.rpartition(LOG)
        return stem + extension + suffix


def list_segments(directory: str) -> list[SegmentFile]:
    """The segments that make up the log, in order; what a compaction left half done is seen as a
    broker's start would leave it. Raises FileNotFoundError if there is no such directory."""
    for _ in range(_LISTINGS):
        names = _steady_names(directory)
        with suppress(FileNotFoundError):  # renamed or deleted since
            return [_segment(directory, name) for name in _log_names(directory, names)]
    raise FileNotFoundError(errno.ENOENT, "its files change faster than they are read", directory)


def _steady_names(directory: str) -> set[str]:
    """Two listings alike: one alone may miss a file that is renamed while it is made."""
    names = set(READ_ONLY.list_directory(directory))
    for _ in range(_LISTINGS):
        again = set(READ_ONLY.list_directory(directory))
        if again == names:
            break
        names = again
    return names


def _log_names(directory: str, names: set[str]) -> list[str]:
    ours = {name for name in names if base_offset_of(name) is not None}
    if any(name.endswith((SWAP, CLEANED)) for name in ours):
        kept = clean_up(_ON_PAPER, directory, ours, lambda text: None)
    else:
        kept = ours
    found = sorted(name for name in kept if name.endswith(LOG))
    return [name if name in ours else name + SWAP for name in found]


def _segment(directory: str, name: str) -> SegmentFile:
    path = f"{directory}/{name}"
    status = READ_ONLY.stat(path)
    base_offset = base_offset_of(name)
    assert base_offset is not None
    return SegmentFile(path, base_offset, status.st_size, status.st_ino)


# --- batches ----------------------------------------------------------------------------


def batches(
    file: SegmentFile, opened: OpenFile, start: int, end: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[FoundBatch]:
    """Every batch of [start, end), all of which must be whole; DamagedSegment says where not."""
    position = start
    try:
        for found in read_batches(opened, start, end, chunk_bytes):
            yield found
            position = found[0] + found[1].size_bytes
    except CorruptBatch as corrupt:
        raise DamagedSegment(file.path, position, corrupt.reason) from None


def batch_at(opened: OpenFile, position: int, end: int) -> BatchHeader | None:
    """The header of the batch at a position, None if there is none."""
    data = opened.read_fully(min(V2_HEADER_BYTES, max(end - position, 0)), position)
    try:
        return parse_header(data, 0, end - position)
    except (CorruptBatch, IndexError, error):
        return None


def index_entries(file: SegmentFile) -> list[tuple[int, int]]:
    """(offset, position) from the offset index, both rising, as far as they can be right."""
    try:
        data = read_file(READ_ONLY, file.beside(INDEX))
    except FileNotFoundError:
        return []
    entries: list[tuple[int, int]] = []
    last_offset, last_position = 0, 0
    for offset, position in OffsetIndex.ENTRY.iter_unpack(data[: len(data) - len(data) % 8]):
        if offset <= last_offset or not last_position < position < file.size_bytes:
            break
        entries.append((file.base_offset + offset, position))
        last_offset, last_position = offset, position
    return entries
