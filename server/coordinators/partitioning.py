"""Which partition of __consumer_offsets (or __transaction_state) a name belongs to."""

from functools import lru_cache

_MASK = 0x7FFFFFFF
LONGEST_KEPT = 256
"""Characters of a name whose hash is kept. Clients choose names, of up to 32 KB each."""


def java_hash(text: str) -> int:
    """Java's `String.hashCode` without its sign bit, over UTF-16 code units."""
    return _kept(text) if len(text) <= LONGEST_KEPT else _hash(text)


def _hash(text: str) -> int:
    value = 0
    if text.isascii():
        for unit in text.encode():
            value = (31 * value + unit) & 0xFFFFFFFF
    else:
        encoded = text.encode("utf-16-be", "surrogatepass")
        for position in range(0, len(encoded), 2):
            unit = encoded[position] << 8 | encoded[position + 1]
            value = (31 * value + unit) & 0xFFFFFFFF
    return value & _MASK


_kept = lru_cache(maxsize=65_536)(_hash)


def partition_for(name: str, partition_count: int) -> int:
    """The partition that coordinates a group or transactional id."""
    return java_hash(name) % partition_count
