"""A buffer of many batches, in pieces that are short work each."""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from barnabas.storage.batch.header import LOG_OVERHEAD

_OFFSET_AND_SIZE: Final = Struct(">qi")
FAR: Final = 1 << 30
"""Batches whose offsets are so far apart do not belong in one segment, or only just."""


def pieces(buffer: memoryview, most_bytes: int, most_batches: int) -> Iterator[memoryview]:
    """Stretches of whole batches, each of at most so many, and of so many bytes or one batch.

    None has offsets that are FAR apart.

    What makes no sense, or is cut short, stays at the end of the last: nothing is checked here.
    """
    start = position = count = first = 0
    end = len(buffer)
    while position + LOG_OVERHEAD <= end:
        offset, size = _OFFSET_AND_SIZE.unpack_from(buffer, position)
        following = position + LOG_OVERHEAD + size
        if size <= 0 or following > end:
            break
        if count and (
            count == most_batches or following - start > most_bytes or offset - first > FAR
        ):
            yield buffer[start:position]
            start, count = position, 0
        if not count:
            first = offset
        position = following
        count += 1
    if start < end:
        yield buffer[start:]
