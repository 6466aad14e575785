"""SIGTERM for commands that go on and on: they end as with Ctrl-C.

`timeout`, systemd and Docker send it: what was taken is committed, a group is left, and what was
acknowledged is said.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import click


class Terminated(KeyboardInterrupt):
    """SIGTERM has come."""


def end_by_sigterm() -> None:
    """From here on SIGTERM interrupts the command that runs; not where it is ignored."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        click.get_current_context().with_resource(_handled())


@contextmanager
def _handled() -> Iterator[None]:
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(*_: object) -> None:
    raise Terminated
