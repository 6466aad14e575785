"""An event loop in a thread of its own, for the brokers of a test's process."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from barnabas.server.network.reactor import new_event_loop
from barnabas.server.testing.link import START_TIMEOUT_S
from barnabas.server.testing.refusals import NotRunning

T = TypeVar("T")


class LoopThread:
    """The thread, and the way to what happens on its loop."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process_id = os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether anything can happen there."""
        return self._loop is not None

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is a fork of the process that has the thread."""
        return os.getpid() != self._process_id

    def require_here(self) -> None:
        """Raises NotRunning in a fork, which would wait for ever."""
        if self.is_elsewhere:
            raise NotRunning(
                f"the broker is a thread of process {self._process_id}, and this is a fork of it;"
                " barnabas.Broker(process=True) can be used from forks, too"
            )

    def open(self) -> Self:
        """Start the thread."""
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="barnabas", daemon=True
        )
        self._thread.start()
        started.wait()
        return self

    def close(self) -> None:
        """End the thread; nothing may be under way."""
        if self._thread is None or self._loop is None or self.is_elsewhere:
            return
        loop, self._loop = self._loop, None
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        self._thread = None

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine on the loop and return what it returns. Raises NotRunning."""
        if self._loop is None or self.is_elsewhere:
            work.close()
            self.require_here()
            raise NotRunning("the broker is not running")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def start(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that starts a broker. Raises TimeoutError, or what it raises."""
        try:
            return self.run(work, START_TIMEOUT_S)
        except TimeoutError:
            raise TimeoutError(f"the broker did not start in {START_TIMEOUT_S:.0f} s") from None

    def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the loop and return what it returns."""

        async def on_loop() -> T:
            return function()

        return self.run(on_loop())

    def _run(self, started: threading.Event) -> None:
        self._loop = loop = new_event_loop()
        loop.call_soon(started.set)
        try:
            loop.run_forever()
        finally:
            loop.close()
