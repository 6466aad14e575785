"""The segments of one log in the order of their base offsets."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from barnabas.storage.segment.segment import Segment


class Segments:
    """An ordered set of segments; the last one is the active one."""

    __slots__ = ("_bases", "_segments")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[Segment] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __contains__(self, base_offset: int) -> bool:
        slot = bisect_left(self._bases, base_offset)
        return slot < len(self._bases) and self._bases[slot] == base_offset

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def last(self) -> Segment:
        return self._segments[-1]

    @property
    def base_offsets(self) -> list[int]:
        return self._bases.copy()

    @property
    def size_bytes(self) -> int:
        """Bytes of all `.log` files."""
        return sum(segment.size_bytes for segment in self._segments)

    def add(self, segment: Segment) -> None:
        """Add a segment in its place; one with the same base offset is replaced."""
        slot = bisect_left(self._bases, segment.base_offset)
        if slot < len(self._bases) and self._bases[slot] == segment.base_offset:
            self._segments[slot] = segment
        else:
            self._bases.insert(slot, segment.base_offset)
            self._segments.insert(slot, segment)

    def remove(self, base_offset: int) -> None:
        """Take a segment out; one that is not there is fine."""
        if base_offset in self:
            slot = bisect_left(self._bases, base_offset)
            del self._bases[slot], self._segments[slot]

    def floor(self, offset: int) -> Segment | None:
        """The segment with the largest base offset at or below `offset`."""
        slot = bisect_right(self._bases, offset)
        return self._segments[slot - 1] if slot else None

    def after(self, base_offset: int) -> Segment | None:
        """The first segment with a larger base offset."""
        slot = bisect_right(self._bases, base_offset)
        return self._segments[slot] if slot < len(self._segments) else None

    def before(self, base_offset: int) -> Segment | None:
        """The last segment with a smaller base offset."""
        slot = bisect_left(self._bases, base_offset)
        return self._segments[slot - 1] if slot else None

    def starting_with(self, segment: Segment) -> list[Segment]:
        """A segment of the log and all that follow."""
        return self._segments[bisect_left(self._bases, segment.base_offset) :]

    def between(self, start: int, end: int) -> list[Segment]:
        """The segments that may hold an offset in [start, end)."""
        first = max(bisect_right(self._bases, start) - 1, 0)
        return self._segments[first : max(bisect_left(self._bases, end), first)]
