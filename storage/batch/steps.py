"""What takes long for many records is written as steps: a generator that yields every few of them.

Whoever has others to serve takes a few steps at a time (`barnabas.server.core.turns`); whoever has
not takes them all (`finished`). One call of a codec's library cannot be interrupted, but it lets
go of the interpreter: such a step yields the call itself (`elsewhere`), to be made in a thread.
"""

from collections.abc import Callable, Generator
from typing import Any, Final, Generic, TypeVar

RECORDS_OF_A_STEP: Final = 64
"""A power of two: less than a millisecond's work."""
BYTES_OF_A_STEP: Final = 16 << 10
"""As much for gzip, and for zstd at its highest level."""

T = TypeVar("T")


class Elsewhere(Generic[T]):
    """A call that another thread may make: it shares nothing that changes meanwhile."""

    __slots__ = ("_error", "_result", "_work", "is_done")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: T | None = None
        self._error: Exception | None = None
        self.is_done = False

    def make(self) -> None:
        """Make the call; what it raises is raised by `outcome`."""
        try:
            self._result = self._work()
        except Exception as error:
            self._error = error
        self.is_done = True

    def outcome(self) -> T:
        """What the call came to; it is made here if nobody has made it."""
        if not self.is_done:
            self.make()
        if self._error is not None:
            raise self._error
        result: Any = self._result
        made: T = result
        return made


Steps = Generator[Any, None, T]
"""Each yields None, or the call that the next step waits for (`Elsewhere`)."""


def elsewhere(work: Callable[[], T]) -> Steps[T]:
    """One step: what `work` returns or raises."""
    call = Elsewhere(work)
    yield call
    if not call.is_done:
        yield call  # whoever took the first step had no thread, or left the rest to somebody else
    return call.outcome()


def finished(steps: Steps[T]) -> T:
    """All the steps at once; what they return."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
