"""The loop of `reactor`, where there is epoll."""

import asyncio
import select
import selectors
import sys
import time
from collections.abc import Callable
from contextvars import Context
from typing import Final, TypeVarTuple

from barnabas.server.network.reactor import Callback, Watcher

assert sys.platform == "linux"  # what follows is typed there only

MOST_EVENTS: Final = 64  # taken from one poll; what else is ready has its turn in the next

Ts = TypeVarTuple("Ts")


class DirectSelector(selectors.EpollSelector):
    """asyncio's selector, polled beside the watched sockets."""

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        super().__init__()
        self._on_error = on_error
        self._outer = select.epoll()
        self._callbacks: dict[int, Callback] = {}
        # Whether asyncio has something to do before the next poll, and whether that is events.
        self.is_wanted = self._has_events = False
        self.watch(self.fileno(), self._note_events)

    def watch(self, fd: int, callback: Callback) -> None:
        """Call `callback` whenever `fd` is readable, has failed or has ended."""
        self._outer.register(fd, select.EPOLLIN)
        self._callbacks[fd] = callback

    def watch_writable(self, fd: int, callback: Callback) -> None:
        """Call `callback` whenever `fd` takes more or has failed; not while it is watched."""
        self._outer.register(fd, select.EPOLLOUT)
        self._callbacks[fd] = callback

    def unwatch(self, fd: int) -> None:
        """Stop that; to be called before `fd` is closed."""
        del self._callbacks[fd]
        self._outer.unregister(fd)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Serve the watched sockets until asyncio is wanted; its events, if there are any."""
        self.is_wanted = self._has_events = False
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            self._serve(timeout)
            if self.is_wanted:
                return super().select(0) if self._has_events else []
            if deadline is not None:
                timeout = deadline - time.monotonic()
                if timeout <= 0:
                    return []

    def close(self) -> None:
        self._outer.close()
        super().close()

    def _serve(self, timeout: float | None) -> None:
        """One poll and its callbacks; a socket that one of them closed is passed over."""
        callbacks = self._callbacks
        for fd, _ in self._outer.poll(timeout, MOST_EVENTS):
            callback = callbacks.get(fd)
            if callback is not None:
                try:
                    callback()
                except Exception as error:  # as asyncio does: the other sockets go on
                    self._on_error(error)

    def _note_events(self) -> None:
        self._has_events = self.is_wanted = True


class DirectLoop(asyncio.SelectorEventLoop):
    """asyncio's loop over a DirectSelector."""

    def __init__(self) -> None:
        self._direct = DirectSelector(self._callback_failed)
        super().__init__(self._direct)
        direct = self._direct
        self.watcher = Watcher(direct.watch, direct.unwatch, direct.watch_writable, direct.unwatch)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self._direct.is_wanted = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self._direct.is_wanted = True
        return super().call_at(when, callback, *args, context=context)

    def stop(self) -> None:
        self._direct.is_wanted = True
        super().stop()

    def _callback_failed(self, error: Exception) -> None:
        context = {"message": "a watched socket's callback failed", "exception": error}
        self.call_exception_handler(context)
