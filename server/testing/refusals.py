"""Why a command of the control was not carried out; each is one sentence, and one HTTP status.

They are Python's own kinds of errors too, so that a test reads the same in and over a process.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_COMMAND: Final = re.compile(r"^(GET|POST|DELETE) /control\S*: ")


class Refusal(Exception):
    """A command that was not carried out."""

    status = 500


class BadCommand(Refusal, ValueError):
    """The command makes no sense: an unknown field, a wrong value."""

    status = 400


class NothingThere(Refusal, LookupError):
    """The command is about something that does not exist."""

    status = 404


class NotAllowed(Refusal, LookupError):
    """The path exists, for other methods."""

    status = 405


class NotRunning(Refusal, RuntimeError):
    """The broker is stopped, and the command needs it."""

    status = 409


class NotInTime(Refusal, TimeoutError):
    """What was waited for has not come."""

    status = 504


REFUSALS = {
    each.status: each
    for each in (Refusal, BadCommand, NothingThere, NotAllowed, NotRunning, NotInTime)
}


@contextmanager
def in_python(method: str) -> Iterator[None]:
    """Let a refusal name the method that was called and its parameters, not the command behind."""
    try:
        yield
    except Refusal as refusal:
        raise type(refusal)(_COMMAND.sub(f"{method}: ", str(refusal))) from None


def ms_of(method: str, timeout_s: float) -> float:
    """A method's `timeout_s` as commands want it. Raises BadCommand."""
    if not timeout_s >= 0:
        raise BadCommand(f"{method}: `timeout_s` is {timeout_s!r}, not a number of seconds from 0")
    return timeout_s * 1000
