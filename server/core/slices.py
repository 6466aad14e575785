"""Work that nobody waits for, done a few milliseconds at a time: others are served in between."""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

SLICE_MS: Final = 4.0


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
