"""Which partition of __consumer_offsets (or __transaction_state) a name belongs to.

Every broker of a cluster must say the same, Apache Kafka's among them: one that looked elsewhere
would know nothing of a group, or of a transaction that is open. (Kafka: GroupMetadataManager and
TransactionStateManager, partitionFor: `Utils.abs` of the hash code.)
"""

from functools import lru_cache

_SIGN = 0x80000000
LONGEST_KEPT = 256
"""Characters of a name whose hash is kept. Clients choose names, of up to 32 KB each."""


def java_hash(text: str) -> int:
    """The absolute value of Java's `String.hashCode`, over UTF-16 code units; 0 for the least."""
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
    return value if value < _SIGN else (-value) & (_SIGN - 1)


_kept = lru_cache(maxsize=65_536)(_hash)


def partition_for(name: str, partition_count: int) -> int:
    """The partition that coordinates a group or transactional id."""
    return java_hash(name) % partition_count
