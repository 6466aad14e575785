"""Which transactions have begun in a closed segment, while their ends may be lost with the power.

What compaction does because a transaction has ended it does for good: a record of a committed
one supersedes earlier ones, a record of an aborted one goes. Were the marker lost after that,
the transaction could end the other way, and neither value would be left. Compaction takes whole
closed segments that are durable; so only a transaction matters that was open when a segment was
closed, and only until its marker is durable.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.storage.batch.header import MAX_OFFSET
from barnabas.storage.producers.entry import CompletedTransaction

_OPEN: Final = MAX_OFFSET + 1


class UnsureEnds:
    """Those transactions of one log; after its opening and a truncation they have to be found."""

    __slots__ = ("_markers", "are_known")

    def __init__(self) -> None:
        self._markers: dict[int, int] = {}
        """First offset → that of the marker, or `_OPEN`."""
        self.are_known = False

    @property
    def first_offset(self) -> int | None:
        """Where the earliest of them begins."""
        return min(self._markers, default=None)

    def segment_closed(self, ongoing: Iterable[int]) -> None:
        """A segment ends, and transactions with these first offsets are open."""
        for first_offset in ongoing:
            self._markers.setdefault(first_offset, _OPEN)

    def ended(self, completed: CompletedTransaction) -> None:
        """A marker was written."""
        if completed.first_offset in self._markers:
            self._markers[completed.first_offset] = completed.last_offset

    def durable_below(self, recovery_point: int) -> None:
        """All below that offset is on the disk."""
        if self._markers:
            self._markers = {
                first: marker for first, marker in self._markers.items() if marker >= recovery_point
            }

    def forget(self) -> None:
        """The log has been truncated."""
        self._markers.clear()
        self.are_known = False

    def found(self, first_offsets: Iterable[int], ongoing: Mapping[int, int], end: int) -> None:
        """These were open when segments were closed; those not `ongoing` have ended below `end`."""
        for first_offset in first_offsets:
            marker = _OPEN if first_offset in ongoing else end - 1
            self._markers.setdefault(first_offset, marker)
        self.are_known = True
