"""The partition that Kafka's clients give a user's events: murmur2 of the key, for all at once."""

from typing import Final

import numpy as np
import numpy.typing as npt

from barnabas.pipeline.generate.events import is_bot
from barnabas.pipeline.generate.numbers import Integers
from barnabas.pipeline.generate.visits import BOT_BASE

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_KEY_BYTES: Final = 8  # one letter, seven digits: texts.user_ids

Words = npt.NDArray[np.uint32]


def partitions_of(visitors: Integers, count: int) -> Integers:
    """The partition of each visitor's key in a topic of `count` partitions."""
    first, second = _words(visitors)
    value = np.full(len(visitors), _SEED ^ _KEY_BYTES, dtype=np.uint32)
    for word in (first, second):
        value = value * np.uint32(_M) ^ _mixed(word)
    value = (value ^ (value >> np.uint32(13))) * np.uint32(_M)
    value ^= value >> np.uint32(15)
    return (value & np.uint32(0x7FFFFFFF)).astype(np.int64) % count


def _mixed(word: Words) -> Words:
    word = word * np.uint32(_M)
    return (word ^ (word >> np.uint32(24))) * np.uint32(_M)


def _words(visitors: Integers) -> tuple[Words, Words]:
    """The eight bytes of each key as two little-endian words."""
    are_bots = is_bot(visitors)
    numbers = np.where(are_bots, visitors - BOT_BASE, visitors)
    letters = np.where(are_bots, ord("b"), ord("u"))
    digits = [numbers // 10**power % 10 + ord("0") for power in range(6, -1, -1)]
    return _word([letters, *digits[:3]]), _word(digits[3:])


def _word(places: list[Integers]) -> Words:
    value = places[0] | places[1] << 8 | places[2] << 16 | places[3] << 24
    return value.astype(np.uint32)
