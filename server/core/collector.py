"""The garbage collector of the process, kept from what would stop the loop for long.

A full collection looks at every object there is: 50 ms for a large request's 200,000, and as much
for 5,000 partitions. Reference counts free nearly all of them without it.
"""

import gc
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

NEVER: Final = 1_000_000_000
YOUNG: Final = 1
MANY_PARTITIONS: Final = 500
STARTING: Final = 100_000
"""Objects that a start makes between two collections: nearly all of them stay."""

T = TypeVar("T")


class Collector:
    """The collector is one for all brokers of a process, and so is this."""

    def __init__(self) -> None:
        # Whether the process is a broker's own: what it has loaded may then be kept for good.
        self._is_ours = False
        self._grown = 0
        self._asked = 0
        self._found = gc.get_threshold()

    @contextmanager
    def no_full_collections(self, young: int = 0) -> Iterator[None]:
        """While a start or a large request goes on, only what is young is looked at.

        `young`: how many new objects there are before that, if more than otherwise; it counts
        only for the first of those that go on at the same time.
        """
        if not self._asked:
            self._found = gc.get_threshold()
            gc.set_threshold(max(young, self._found[0]), self._found[1], NEVER)
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1
            if not self._asked:
                gc.set_threshold(*self._found)

    def take_over(self) -> None:
        """The process is a broker's own, and has loaded what it has.

        With 20,000 groups every full collection stopped the loop for a tenth of a second.
        """
        self._is_ours = True
        self._keep_for_good()

    def grew(self, partitions: int) -> None:
        """So many partitions came to be, which stay, and are too much to look through."""
        self._grown += partitions
        if self._is_ours and self._grown >= MANY_PARTITIONS:
            self._keep_for_good()

    def _keep_for_good(self) -> None:
        self._grown = 0
        gc.collect(YOUNG)
        gc.freeze()


COLLECTOR: Final = Collector()


async def without_full_collections(work: Awaitable[T]) -> T:
    """Await the handling of a large request."""
    with COLLECTOR.no_full_collections():
        return await work
