"""How a connection asks its event loop to wait for a socket (see `reactor`)."""

from collections.abc import Callable
from typing import NamedTuple

Callback = Callable[[], object]


class Watcher(NamedTuple):
    """How to wait for a socket: to be read or to be written, not for both at a time."""

    watch: Callable[[int, Callback], object]
    unwatch: Callable[[int], object]
    watch_writable: Callable[[int, Callback], object]
    unwatch_writable: Callable[[int], object]
