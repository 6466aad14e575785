"""The offsets of one log.

log start offset ≤ last stable offset ≤ high watermark ≤ log end offset
"""

from barnabas.storage.producers.state import ProducerState


class LogOffsets:
    """Where a log starts, ends, is replicated and is decided; its parts share it."""

    __slots__ = ("_first_unstable_offset", "_producers", "end", "high_watermark", "start")

    def __init__(self, producers: ProducerState, start: int = 0, end: int = 0) -> None:
        self._producers = producers
        self.start = start
        self.end = end
        self.high_watermark = start
        self._first_unstable_offset: int | None = None
        self.update_first_unstable()

    @property
    def last_stable(self) -> int:
        """Everything below is replicated, and its transactions are decided."""
        unstable = self._first_unstable_offset
        if unstable is not None and unstable < self.high_watermark:
            return unstable
        return self.high_watermark

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, kept within the log's start and end; what it became."""
        self.high_watermark = min(max(offset, self.start), self.end)
        if self._producers.settle_below(self.high_watermark):
            self.update_first_unstable()
        return self.high_watermark

    def maybe_increment_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark to `offset`; False where that would not raise it."""
        if offset <= self.high_watermark:
            return False
        if offset > self.end:
            raise ValueError(f"high watermark {offset} above log end {self.end}")
        self.high_watermark = offset
        if self._producers.settle_below(offset):
            self.update_first_unstable()
        return True

    def update_first_unstable(self) -> None:
        """Ask the producers again; to be called after each change of their transactions."""
        first = self._producers.first_unstable_offset()
        self._first_unstable_offset = None if first is None else max(first, self.start)
