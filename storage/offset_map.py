"""Which offset is the last of each key, in a fixed amount of memory.

An open-addressing table of 24-byte slots, as Kafka's SkimpyOffsetMap has them: two 64-bit
hashes of the key, and its last offset plus one (0: the slot is free). The hashes are
SipHash of the key and of the key with a byte added, seeded per process, so keys that collide
in all 128 bits neither happen nor can be made. Memory is touched only as the table fills.
"""

from collections.abc import Iterable, Sequence
from mmap import mmap
from typing import Final

SLOT_BYTES: Final = 24
_WORDS: Final = 3
_SECOND: Final = b"\x01"
NOT_FOUND: Final = -1
NO_KEY: Final = 1 << 63
"""Above every offset: a record without a key counts as superseded."""


class OffsetMap:
    """Keys to their last offsets.

    `latest_offset` is the last offset the map has an opinion on: at or below it, a record whose
    key is not at its last offset is superseded.
    """

    def __init__(
        self, memory_bytes: int, load_factor: float = 0.9, most_keys: int | None = None
    ) -> None:
        """A table of at most `memory_bytes`, smaller if `most_keys` need less."""
        slots = max(memory_bytes // SLOT_BYTES, 2)
        if most_keys is not None:
            slots = min(slots, int(most_keys / load_factor) + 2)
        self._slots = slots
        self._table = memoryview(mmap(-1, slots * SLOT_BYTES)).cast("q")
        self.capacity = max(int(slots * load_factor), 1)
        self.size = 0
        self.latest_offset = NOT_FOUND

    def put_all(
        self, keys: Iterable[bytes | None], deltas: Iterable[int], base_offset: int, start: int
    ) -> bool:
        """Note records in offset order: each key at `base_offset` plus its delta.

        Records without a key or before `start` are passed over. False once the map is full:
        then it holds all up to `latest_offset` and nothing behind it.
        """
        table, slots, end = self._table, self._slots, self._slots * _WORDS
        size, capacity = self.size, self.capacity
        base_offset += 1
        for key, delta in zip(keys, deltas, strict=True):
            offset_plus_1 = base_offset + delta
            if key is None or offset_plus_1 <= start:
                continue
            if size >= capacity:
                self.size = size
                return False
            first, second = hash(key), hash(key + _SECOND)
            at = first % slots * _WORDS
            while table[at + 2]:
                if table[at] == first and table[at + 1] == second:
                    break
                at += _WORDS
                if at == end:
                    at = 0
            else:
                size += 1
                table[at] = first
                table[at + 1] = second
            table[at + 2] = offset_plus_1
            self.latest_offset = offset_plus_1 - 1
        self.size = size
        return True

    def last_offsets(self, keys: Sequence[bytes | None]) -> list[int]:
        """The last offset of each key; NOT_FOUND if it is not in the map, NO_KEY for None."""
        table, slots, end = self._table, self._slots, self._slots * _WORDS
        found = []
        for key in keys:
            if key is None:
                found.append(NO_KEY)
                continue
            first = hash(key)
            at = first % slots * _WORDS
            while offset_plus_1 := table[at + 2]:
                if table[at] == first and table[at + 1] == hash(key + _SECOND):
                    break
                at += _WORDS
                if at == end:
                    at = 0
            found.append(offset_plus_1 - 1)
        return found

    def raise_latest_offset(self, offset: int) -> None:
        """Let the map cover offsets up to this one, keyed records or not."""
        self.latest_offset = max(self.latest_offset, offset)

    @property
    def utilization(self) -> float:
        """Share of the slots in use."""
        return self.size / self._slots
