"""Batches straight from a segment file, a chunk at a time.

For what looks at whole stretches of a log: recovery, rebuilding producer state, searching by
timestamp. A read for a client never comes here.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from barnabas.storage.batch.header import LOG_OVERHEAD, V0_HEADER_BYTES, BatchHeader, parse_header
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptBatch

CHUNK_BYTES: Final = 1 << 20
_SIZE: Final = Struct(">i")
_SIZE_POSITION: Final = 8

FoundBatch = tuple[int, BatchHeader, bytes]
"""File position of a batch, its header, and the chunk in which the header's position counts."""


def read_batches(
    file: OpenFile, position: int, end: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[FoundBatch]:
    """Every whole batch in [position, end) of a file, with its bytes.

    Raises CorruptBatch where the bytes stop being batches, also for a last one cut short.
    Checks no CRC.
    """
    while position < end:
        wanted = min(chunk_bytes, end - position)
        chunk = file.read_fully(wanted, position)
        if len(chunk) < wanted:
            end = position + len(chunk)
        used = 0
        while (size := _whole_size(chunk, used, end - position)) <= len(chunk) - used:
            yield position + used, parse_header(chunk, used, used + size), chunk
            used += size
            if used == len(chunk):
                break
        else:
            chunk_bytes = max(chunk_bytes, size)
        position += used


def _whole_size(chunk: bytes, used: int, left: int) -> int:
    """Bytes of the batch at `used`, which may reach beyond the chunk but not beyond the file."""
    if used + LOG_OVERHEAD > len(chunk):
        if len(chunk) < left:
            return len(chunk) + 1
        raise CorruptBatch(f"{len(chunk) - used} bytes at the end are no batch")
    size: int = LOG_OVERHEAD + _SIZE.unpack_from(chunk, used + _SIZE_POSITION)[0]
    if size < V0_HEADER_BYTES or used + size > left:
        raise CorruptBatch(f"batch size {size} does not fit ({left - used} bytes left)")
    return size
