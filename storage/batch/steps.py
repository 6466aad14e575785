"""What takes long for many records is written as steps: a generator that yields every few of them.

Whoever has others to serve takes a few steps at a time (`barnabas.server.core.turns`); whoever has
not takes them all (`finished`).
"""

from collections.abc import Generator
from typing import Final, TypeVar

RECORDS_OF_A_STEP: Final = 64
"""A power of two: less than a millisecond's work."""
BYTES_OF_A_STEP: Final = 16 << 10
"""As much for gzip."""

T = TypeVar("T")
Steps = Generator[None, None, T]


def finished(steps: Steps[T]) -> T:
    """All the steps at once; what they return."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
