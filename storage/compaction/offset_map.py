"""Which offset is the last of each key, in a bounded amount of memory.

The first keys live in a dict, ten times as fast as anything else Python has; once half of
the memory is used up they stay there, and further keys go into an open-addressing table of
24-byte slots, as Kafka's SkimpyOffsetMap has them: two 64-bit hashes of the key, and its last
offset plus one (0: the slot is free). The hashes are SipHash of the key and of the key with a
byte added, seeded per process, so keys that collide in all 128 bits neither happen nor can
be made.
"""

from collections.abc import Sequence
from itertools import repeat
from mmap import mmap
from typing import Final

NOT_FOUND: Final = -1
NO_KEY: Final = 1 << 63
"""Above every offset: a record without a key counts as superseded."""

_SLOT_BYTES: Final = 24
_WORDS: Final = 3
_SECOND: Final = b"\x01"
# A table needs a free slot: where none is left, a search for a key that is not there has no end.
_LEAST_LOAD: Final = 0.01
_MOST_LOAD: Final = 0.99
# What a key costs in the dict beside its own bytes: its object's head (33, rounded up to 16),
# the offset's (32), and up to 60 for the entry just after the dict has grown.
_DICT_OVERHEAD_BYTES: Final = 48 + 32 + 60


class OffsetMap:
    """Keys to their last offsets.

    `latest_offset` is the last offset the map has an opinion on: at or below it, a record whose
    key is not at its last offset is superseded.
    """

    def __init__(
        self, memory_bytes: int, load_factor: float = 0.9, most_records: int | None = None
    ) -> None:
        """A map of at most `memory_bytes`; `most_records` is how many may be put into it.

        A load factor at which no table works is brought to the nearest at which one does.
        """
        self._last: dict[bytes | None, int] = {None: NO_KEY}
        self._dict_bytes_left = memory_bytes // 2
        self._table = _Table(memory_bytes // 2, load_factor, most_records)
        self.latest_offset = NOT_FOUND

    def put_all(
        self, keys: Sequence[bytes | None], deltas: Sequence[int], base_offset: int, start: int
    ) -> bool:
        """Note records in offset order: each key at `base_offset` plus its delta.

        Records without a key or before `start` are passed over. False once the map is full:
        then it holds all up to `latest_offset` and nothing behind it.
        """
        if not keys:
            return True
        if self._dict_bytes_left <= 0 or base_offset + deltas[0] < start:
            return self._put_each(keys, deltas, base_offset, start)
        last = self._last
        known = len(last)
        last.update(zip(keys, [base_offset + delta for delta in deltas], strict=True))
        last[None] = NO_KEY
        new = len(last) - known
        if new:
            mean_bytes = sum(map(len, filter(None, keys))) // len(keys)
            self._dict_bytes_left -= new * (mean_bytes + _DICT_OVERHEAD_BYTES)
        self.latest_offset = base_offset + deltas[-1]
        return True

    def _put_each(
        self, keys: Sequence[bytes | None], deltas: Sequence[int], base_offset: int, start: int
    ) -> bool:
        last, table = self._last, self._table
        for key, delta in zip(keys, deltas, strict=True):
            offset = base_offset + delta
            if key is None or offset < start:
                continue
            if key in last:
                last[key] = offset
            elif self._dict_bytes_left > 0:
                last[key] = offset
                self._dict_bytes_left -= len(key) + _DICT_OVERHEAD_BYTES
            elif not table.put(key, offset):
                return False
            self.latest_offset = offset
        return True

    def last_offsets(self, keys: Sequence[bytes | None]) -> list[int]:
        """The last offset of each key; NOT_FOUND if it is not in the map, NO_KEY for None."""
        found = list(map(self._last.get, keys, repeat(NOT_FOUND)))
        if self._table.size:
            get = self._table.get
            for number, offset in enumerate(found):
                if offset < 0 and (key := keys[number]) is not None:
                    found[number] = get(key)
        return found

    def raise_latest_offset(self, offset: int) -> None:
        """Let the map cover offsets up to this one, keyed records or not."""
        self.latest_offset = max(self.latest_offset, offset)

    def __len__(self) -> int:
        return len(self._last) - 1 + self._table.size


class _Table:
    """The slots; their memory is touched, and so taken, only as the table fills."""

    def __init__(self, memory_bytes: int, load_factor: float, most_records: int | None) -> None:
        load_factor = min(max(_LEAST_LOAD, load_factor), _MOST_LOAD)
        slots = max(memory_bytes // _SLOT_BYTES, 2)
        if most_records is not None:
            slots = min(slots, int(most_records / load_factor) + 2)
        self._slots = slots
        self._words = memoryview(mmap(-1, slots * _SLOT_BYTES)).cast("q")
        self._capacity = max(int(slots * load_factor), 1)
        self.size = 0

    def put(self, key: bytes, offset: int) -> bool:
        """Note a key's offset; False if that is one key too many."""
        words, end = self._words, self._slots * _WORDS
        first, second = hash(key), hash(key + _SECOND)
        at = first % self._slots * _WORDS
        while words[at + 2]:
            if words[at] == first and words[at + 1] == second:
                break
            at += _WORDS
            if at == end:
                at = 0
        else:
            if self.size >= self._capacity:
                return False
            self.size += 1
            words[at] = first
            words[at + 1] = second
        words[at + 2] = offset + 1
        return True

    def get(self, key: bytes) -> int:
        """A key's offset or NOT_FOUND."""
        words, end = self._words, self._slots * _WORDS
        first = hash(key)
        at = first % self._slots * _WORDS
        while offset_plus_1 := words[at + 2]:
            if words[at] == first and words[at + 1] == hash(key + _SECOND):
                break
            at += _WORDS
            if at == end:
                at = 0
        return offset_plus_1 - 1
