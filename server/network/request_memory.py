"""The memory of requests, over all connections of a broker: `queued.max.request.bytes` (KIP-72).

A connection takes the whole size of a request as soon as it is announced and gives it back when
the handler has seen it. As in Kafka's SimpleMemoryPool a request is let in as long as anything is
left, so none waits for a gap as large as itself; the limit is exceeded by one request at most.
Whoever comes when nothing is left waits in line, and is not read from.
"""

from typing import Protocol


class Taker(Protocol):
    """Somebody who waits for memory."""

    def memory_granted(self, size: int) -> None:
        """`size` bytes have been taken for it."""


class RequestMemory:
    """Bytes taken of a limit, and who waits for some."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._waiting: dict[Taker, int] = {}

    @property
    def available_bytes(self) -> int:
        """What is left; below zero when the last request took more than there was."""
        return self.limit_bytes - self.used_bytes

    def take(self, taker: Taker, size: int) -> bool:
        """Take `size` bytes, or wait for them: False, and `memory_granted` later."""
        if self.available_bytes > 0:
            self._waiting.pop(taker, None)
            self.used_bytes += size
            return True
        self._waiting[taker] = size
        return False

    def give_back(self, size: int) -> None:
        """Return what was taken; those who waited longest take it."""
        self.used_bytes -= size
        while self._waiting and self.available_bytes > 0:
            taker = next(iter(self._waiting))
            wanted = self._waiting.pop(taker)
            self.used_bytes += wanted
            taker.memory_granted(wanted)

    def forget(self, taker: Taker) -> None:
        """It waits no more."""
        self._waiting.pop(taker, None)
