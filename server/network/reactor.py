"""The event loop of a broker: asyncio's own, with a shorter way for sockets that carry requests.

asyncio turns a readable socket into an event, the event into a handle, the handle into an entry
of a queue, and runs the queue after the poll. For a request that is served in 20 µs that is a
third of the work. Sockets given to `watch` are polled beside everything else and their callbacks
are called from within the poll, which goes on as long as nobody asks asyncio for anything.

    sockets of connections ──┐
                             ├─ outer epoll: poll, call back, poll again, …
    asyncio's own epoll ─────┘      └─ asyncio's turn: an event of its own, a callback or timer
                                       somebody has asked for, or the time of the next timer

The rules of asyncio hold: one thread, one callback at a time, and a callback may use the loop
as it likes. That loop is in `epoll_loop`; where there is no epoll, `new_event_loop` gives
asyncio's as it is, and `watcher` its readers and writers.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import NamedTuple

Callback = Callable[[], object]


class Watcher(NamedTuple):
    """How a connection waits for a socket: to be read or to be written, not for both at a time."""

    watch: Callable[[int, Callback], object]
    unwatch: Callable[[int], object]
    watch_writable: Callable[[int, Callback], object]
    unwatch_writable: Callable[[int], object]


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop to run a broker on."""
    if sys.platform != "linux":
        return asyncio.new_event_loop()
    from barnabas.server.network.epoll_loop import DirectLoop  # which stands on this module

    return DirectLoop()


def watcher(loop: asyncio.AbstractEventLoop) -> Watcher:
    """The watcher of a loop; on one that has none of its own it does the same slower."""
    own: Watcher | None = getattr(loop, "watcher", None)
    if own is not None:
        return own
    return Watcher(loop.add_reader, loop.remove_reader, loop.add_writer, loop.remove_writer)
