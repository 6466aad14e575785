"""Random numbers that are functions: of a seed, of what they are for, and of a counter.

Integers and the square root alone, so that a seed gives the same stream with every numpy and on
every processor; numpy's own distributions promise neither.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_MASK: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_MIX_1: Final = 0xBF58476D1CE4E5B9
_MIX_2: Final = 0x94D049BB133111EB


def mix(value: int) -> int:
    """SplitMix64's finaliser: a permutation of the numbers of 64 bits."""
    value = ((value ^ (value >> 30)) * _MIX_1) & _MASK
    value = ((value ^ (value >> 27)) * _MIX_2) & _MASK
    return value ^ (value >> 31)


def key_of(seed: int, purpose: str) -> int:
    """What `hashes` starts from: another one for each seed and purpose."""
    key = mix((seed + _GOLDEN) & _MASK)
    for byte in purpose.encode():
        key = mix((key + byte + _GOLDEN) & _MASK)
    return key


def hashes(key: int, counters: Integers | Hashes) -> Hashes:
    """One number of 64 bits per counter; different ones for different counters."""
    value = counters.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(key)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(_MIX_1)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(_MIX_2)
    return value ^ (value >> np.uint64(31))


def below(drawn: Hashes, limit: int | Integers) -> Integers:
    """Numbers from 0 up to, but not including, the limit (at most 2**31), from the upper bits."""
    return ((drawn >> np.uint64(33)).astype(np.int64) * limit) >> 31


def is_one_of(drawn: Hashes, per_million: int) -> npt.NDArray[np.bool_]:
    """True for so many of a million."""
    return below(drawn, 1_000_000) < per_million


def chosen(drawn: Hashes, weights: Sequence[int]) -> Integers:
    """Indexes of the weights, each as often as it weighs."""
    limits = np.cumsum(np.array(weights, dtype=np.int64))
    return np.searchsorted(limits, below(drawn, int(limits[-1])), side="right").astype(np.int64)


def zipf_ranks(drawn: Hashes, count: int) -> Integers:
    """Ranks 0 … count - 1, rank r about as often as (r + 1) ** -0.75.

    The inverse of the distribution is a fourth power, hence needs no logarithm.
    """
    fraction = (drawn >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    root = np.sqrt(np.sqrt(np.float64(count + 1)))
    power = 1.0 + fraction * (root - 1.0)
    power *= power
    ranks: Integers = (power * power).astype(np.int64) - 1
    return np.minimum(ranks, np.int64(count - 1))
