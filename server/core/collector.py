"""The garbage collector of the process, kept from what would stop the loop for long.

A full collection looks at every object there is: 50 ms for a large request's 200,000, and as much
for 5,000 partitions. Reference counts free nearly all of them without it.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NEVER: Final = 1_000_000_000
YOUNG: Final = 1


class Collector:
    """The collector is one for all brokers of a process, and so is this."""

    def __init__(self) -> None:
        self._asked = 0
        self._found = gc.get_threshold()

    @contextmanager
    def no_full_collections(self) -> Iterator[None]:
        """While a large request is being served, only what is young is looked at."""
        if not self._asked:
            self._found = gc.get_threshold()
            gc.set_threshold(self._found[0], self._found[1], NEVER)
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1
            if not self._asked:
                gc.set_threshold(*self._found)

    def keep_for_good(self) -> None:
        """Spare it what was loaded: it stays, and is too much to look through."""
        gc.collect(YOUNG)
        gc.freeze()


COLLECTOR: Final = Collector()
