"""An event loop whose time is not real: it jumps to the next timer whenever nothing is due.

A turn of the loop takes a little time, too, as it does in reality: who waits in small steps for a
moment gets there. There are no sockets and no threads: connections are `Wire`s of the simulated
network, which say themselves when there is something to read. So the same callbacks run in the
same order, each time.
"""

import asyncio
import selectors
from collections.abc import Callable, Mapping
from typing import Any, Final

from barnabas.server.network.reactor import Watcher

Callback = Callable[[], object]
TURN_S: Final = 1e-6
MOST_TURNS: Final = 2_000_000
"""Of one history, which takes a tenth of that."""


class Stuck(Exception):
    """Nothing will ever happen; or something happens endlessly."""


class _Time(selectors.BaseSelector):
    """Waits by letting virtual time pass."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.turns_left = MOST_TURNS
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = selectors.SelectorKey(fileobj, 0, events, data)
        self._keys[fileobj] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.register(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("nothing will ever happen")
        self.turns_left -= 1
        if not self.turns_left:
            raise Stuck(f"endless: too many turns of the loop by {self.now_s} s")
        self.now_s += max(TURN_S, timeout)
        return []

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys[fileobj]

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop, and who watches which wire."""

    def __init__(self) -> None:
        self._virtual = _Time()
        super().__init__(self._virtual)
        self._readers: dict[int, Callback] = {}
        self.readable: Callable[[int], bool] = lambda fd: False
        """Whether there is something to read, an end included."""
        self.watcher = Watcher(self._watch, self._unwatch, self._watch_writable, lambda fd: None)

    def time(self) -> float:
        return self._virtual.now_s

    def bound(self, turns: int = MOST_TURNS) -> None:
        """Go round no more often than that from now on. Stuck is raised instead."""
        self._virtual.turns_left = turns

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """On the spot."""
        made = self.create_future()
        made.set_result(func(*args))
        return made

    def poll(self, fd: int) -> None:
        """Something has come by a wire: whoever watches it reads, soon."""
        if fd in self._readers and self.readable(fd):
            self.call_soon(self._read, fd)

    def _read(self, fd: int) -> None:
        callback = self._readers.get(fd)
        if callback is not None and self.readable(fd):
            callback()
            self.poll(fd)

    def _watch(self, fd: int, callback: Callback) -> None:
        self._readers[fd] = callback
        self.poll(fd)

    def _unwatch(self, fd: int) -> None:
        self._readers.pop(fd, None)

    def _watch_writable(self, fd: int, callback: Callback) -> None:
        self.call_soon(callback)
