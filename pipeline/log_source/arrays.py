"""Numbers of records read out of a buffer by arrays: one call for all records, not one for each.

A position is a byte of the buffer. What lies outside of it is an IndexError, as with bytes.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from barnabas.storage.errors import CorruptBatch

Numbers: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]

INT32_SHIFT: Final = 28
INT64_SHIFT: Final = 63


def read_varints(
    data: Bytes, positions: Numbers, last_shift: int = INT32_SHIFT
) -> tuple[Numbers, Numbers]:
    """The zig-zag integer at each position, and the position behind each."""
    first = data[positions]
    behind = positions + 1
    raw = (first & 0x7F).astype(np.uint64)
    longer = np.flatnonzero(first & 0x80)
    shift = 7
    while longer.size:
        if shift > last_shift:
            raise CorruptBatch("a variable-length integer does not end")
        more = data[behind[longer]]
        raw[longer] |= (more & 0x7F).astype(np.uint64) << np.uint64(shift)
        behind[longer] += 1
        longer = longer[more > 0x7F]
        shift += 7
    halves = (raw >> np.uint64(1)).view(np.int64)
    return halves ^ -(raw & np.uint64(1)).view(np.int64), behind


def after(positions: Numbers, lengths: Numbers) -> Numbers:
    """The positions behind so many bytes; a null has a negative length and no bytes."""
    behind: Numbers = positions + np.maximum(lengths, 0)
    return behind
