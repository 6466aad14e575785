"""The order in which Kafka's JSON lists the keys of its hash maps.

Kafka writes the partitions of a topic from a Scala mutable.HashMap and configs from a Java
Properties, so the order of the keys is that of their hash tables. No reader minds the order;
we follow it so that a znode written by us cannot be told from one written by Kafka.
"""

from collections.abc import Iterable

_SCALA_CAPACITY = 16
_PROPERTIES_CAPACITY = 16


def java_hash(text: str) -> int:
    """Return String.hashCode as an unsigned 32-bit number."""
    encoded = text.encode("utf-16-be")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF
    return value


def scala_hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return the keys as scala.collection.mutable.HashMap (2.13) iterates them.

    A bucket is the low bits of the hash mixed with its own high half and lists its keys by
    signed hash; the table doubles when one key more would fill three quarters of it.
    """
    mixed = {key: _mixed_hash(key) for key in keys}
    capacity = _SCALA_CAPACITY
    while len(mixed) >= capacity * 3 // 4:
        capacity *= 2
    sign = 1 << 31
    return sorted(mixed, key=lambda key: (mixed[key] & (capacity - 1), mixed[key] ^ sign))


def properties_order(keys: Iterable[str]) -> list[str]:
    """Return the keys as java.util.Properties lists them when they are put in this order.

    Properties wraps a ConcurrentHashMap, whose buckets keep the order of insertion; when the
    table is three quarters full it doubles and each bucket is split.
    """
    keys = list(keys)
    if len(keys) < 2:
        return keys
    table: list[list[tuple[int, str]]] = [[] for _ in range(_PROPERTIES_CAPACITY)]
    count = 0
    for key in keys:
        mixed = _mixed_hash(key)
        table[mixed & (len(table) - 1)].append((mixed, key))
        count += 1
        if count >= len(table) * 3 // 4:
            table = _doubled(table)
    return [key for bucket in table for _, key in bucket]


def _doubled(table: list[list[tuple[int, str]]]) -> list[list[tuple[int, str]]]:
    low, high = zip(*(_split(bucket, len(table)) for bucket in table), strict=True)
    return [*low, *high]


def _split(
    bucket: list[tuple[int, str]], bit: int
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Split a bucket as ConcurrentHashMap.transfer does.

    The longest run at the end that stays together is kept as it is; the entries before it are
    put in front one by one, which turns them round.
    """
    run = len(bucket)
    while run > 0 and (bucket[run - 1][0] ^ bucket[-1][0]) & bit == 0:
        run -= 1
    halves: tuple[list[tuple[int, str]], list[tuple[int, str]]] = ([], [])
    if bucket:
        halves[bool(bucket[-1][0] & bit)].extend(bucket[run:])
    for entry in bucket[:run]:
        halves[bool(entry[0] & bit)].insert(0, entry)
    return halves


def _mixed_hash(key: str) -> int:
    value = java_hash(key)
    return value ^ value >> 16
