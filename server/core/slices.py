"""Work that nobody waits for, done a few milliseconds at a time: others are served in between."""

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from typing import Final

SLICE_MS: Final = 4.0
TOGETHER: Final = 32


class Slices:
    """One piece of work at a time, a slice of it in each pass of the event loop."""

    def __init__(self) -> None:
        self._next: asyncio.Handle | None = None

    @property
    def is_busy(self) -> bool:
        """Whether there is something left to do."""
        return self._next is not None

    def begin(self, parts: Iterator[None]) -> None:
        """Do the first slice of it now; it may be interrupted wherever `parts` yields.

        Nothing must be left of what was begun before.
        """
        self._next = None
        slice_ends_ms = time.monotonic() * 1000 + SLICE_MS
        for _ in parts:
            if time.monotonic() * 1000 > slice_ends_ms:
                self._next = asyncio.get_running_loop().call_soon(self.begin, parts)
                return

    def stop(self) -> None:
        """Do no more of it."""
        if self._next is not None:
            self._next.cancel()
            self._next = None


class Turnstile:
    """Lets so many through in each pass of the event loop: what thousands waited for has come."""

    def __init__(self, together: int = TOGETHER) -> None:
        self._together = together
        self._passed = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait, if others come first."""
        loop = asyncio.get_running_loop()
        if not self._passed:
            loop.call_soon(self._next_pass)
        self._passed += 1
        if self._passed > self._together or self._waiting:
            waits: asyncio.Future[None] = loop.create_future()
            self._waiting.append(waits)
            await waits

    def _next_pass(self) -> None:
        self._passed = 0
        while self._waiting and self._passed < self._together:
            waits = self._waiting.popleft()
            if not waits.done():  # cancelled meanwhile
                waits.set_result(None)
                self._passed += 1
        if self._passed:
            asyncio.get_running_loop().call_soon(self._next_pass)
