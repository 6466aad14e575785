"""The headers of many records as arrays, all the first ones at once, then all the second ones.

A list of them is a count, then of each key and value, length and bytes. Records with more than
`MOST_ROUNDS` headers would take as many rounds: then each record's list is walked on its own.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from barnabas.pipeline.log_source.arrays import Bytes, Numbers, after, read_varints
from barnabas.storage.batch.varint import read_varint
from barnabas.storage.errors import CorruptBatch

MOST_ROUNDS: Final = 64


@dataclass(frozen=True)
class HeaderLists:
    """How many headers each record has, and where their parts lie, in the records' order."""

    counts: Numbers
    key_positions: Numbers
    key_lengths: Numbers
    value_positions: Numbers
    value_lengths: Numbers


_NONE: Final = np.zeros(0, np.int64)
NO_LISTS: Final = HeaderLists(_NONE, _NONE, _NONE, _NONE, _NONE)
"""No record has any."""


def header_lists(data: bytes, positions: Numbers, ends: Numbers) -> HeaderLists:
    """The lists that lie from each position to each end; CorruptBatch unless they fill that."""
    octets: Bytes = np.frombuffer(data, np.uint8)
    try:
        counts, position = read_varints(octets, positions)
        if np.any(counts < 0) or np.any(counts > ends - position):
            raise CorruptBatch("a record has more headers than bytes for them, or less than none")
        most = int(counts.max(initial=0))
        if most > MOST_ROUNDS:
            return _one_by_one(data, counts, position, ends)
        found = _in_rounds(octets, counts, position, ends, most)
    except IndexError:
        raise CorruptBatch("a record's headers run past the end of its batch") from None
    return found if most else NO_LISTS


def _in_rounds(
    octets: Bytes, counts: Numbers, position: Numbers, ends: Numbers, most: int
) -> HeaderLists:
    """`position` is moved on to the end of each list."""
    rounds: list[tuple[Numbers, ...]] = []
    for number in range(most):
        having = np.flatnonzero(counts > number)
        key_lengths, keys = read_varints(octets, position[having])
        value_lengths, values = read_varints(octets, after(keys, key_lengths))
        behind = after(values, value_lengths)
        if np.any(key_lengths < 0) or np.any(behind > ends[having]):
            raise CorruptBatch("a record header's lengths do not fit")
        position[having] = behind
        rounds.append((having, keys, key_lengths, values, value_lengths))
    if np.any(position != ends):
        raise CorruptBatch("a record's length and its headers do not agree")
    if not rounds:
        return NO_LISTS
    having, *parts = (np.concatenate(each) for each in zip(*rounds, strict=True))
    order = np.argsort(having, kind="stable")
    keys, key_lengths, values, value_lengths = (part[order] for part in parts)
    return HeaderLists(counts, keys, key_lengths, values, value_lengths)


def _one_by_one(data: bytes, counts: Numbers, positions: Numbers, ends: Numbers) -> HeaderLists:
    found: list[tuple[int, int, int, int]] = []
    for count, at, end in zip(counts.tolist(), positions.tolist(), ends.tolist(), strict=True):
        position: int = at
        for _ in range(count):
            key_length, key = read_varint(data, position)
            value_length, value = read_varint(data, key + max(key_length, 0))
            position = value + max(value_length, 0)
            if key_length < 0 or position > end:
                raise CorruptBatch("a record header's lengths do not fit")
            found.append((key, key_length, value, value_length))
        if position != end:
            raise CorruptBatch("a record's length and its headers do not agree")
    keys, key_lengths, values, value_lengths = np.array(found, np.int64).T
    return HeaderLists(counts, keys, key_lengths, values, value_lengths)
