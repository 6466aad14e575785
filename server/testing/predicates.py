"""Predicates of faults, which are a test's own code on the broker's loop: what they raise is kept.

The broker goes on; the test that set the fault is to fail.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.wire.schema import Message


class PredicateFailed(Exception):
    """A fault's predicate raised; the cause is what it raised."""


class Failure(NamedTuple):
    """What a predicate raised, of a request of which class."""

    request: str
    error: Exception


def guarded(
    predicate: "Callable[[Message], bool]", failures: list[Failure]
) -> "Callable[[Message], bool]":
    """The predicate, which matches nothing when it raises, and tells `failures`."""

    def asked(request: "Message") -> bool:
        try:
            return bool(predicate(request))
        except Exception as error:
            failures.append(Failure(type(request).__name__, error))
            return False

    return asked


def raise_first(failures: list[Failure]) -> None:
    """Forget them all, and raise the first. Raises PredicateFailed."""
    if not failures:
        return
    first, count = failures[0], len(failures)
    failures.clear()
    times = "" if count == 1 else f", and {count - 1} more"
    raise PredicateFailed(
        f"a fault's predicate raised {first.error!r} of a {first.request}{times}"
    ) from first.error
