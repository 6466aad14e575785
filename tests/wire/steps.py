"""What a generator in steps comes to."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from barnabas.wire.compiler import Steps

T = TypeVar("T")


class Finished(NamedTuple, Generic[T]):
    """What it returned, and how often it let others have their turn."""

    value: T
    steps: int


def finished(steps: Steps[T]) -> Finished[T]:
    """Run a generator to its end."""
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return Finished(stop.value, count)
        count += 1
