"""A test's broker in a thread of the test's own process, with an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from barnabas.server.broker import Broker as ServerBroker
from barnabas.server.network.reactor import new_event_loop
from barnabas.server.settings.config import load_config
from barnabas.server.testing.host import Host
from barnabas.server.testing.link import START_TIMEOUT_S
from barnabas.server.testing.refusals import NotRunning
from barnabas.server.testing.seen import Seen

T = TypeVar("T")


class ThreadLink:
    """The thread, and the way to what happens on its loop."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._host: Host | None = None

    @property
    def is_open(self) -> bool:
        """Whether commands can be given."""
        return self._loop is not None

    @property
    def port(self) -> int:
        """The port of the first listener; kept when the broker is down."""
        return self._hosted.endpoints[0].port

    @property
    def control_port(self) -> int:
        """The port of the control over HTTP; -1 without one."""
        http = self._hosted.http
        return -1 if http is None else http.port

    @property
    def server(self) -> ServerBroker:
        """The broker itself. Raises NotRunning."""
        return self._hosted.broker

    @property
    def _hosted(self) -> Host:
        if self._host is None:
            raise NotRunning("the broker has not been started")
        return self._host

    def open(self, settings: Mapping[str, str]) -> None:
        """Start the thread and the broker in it. Raises what kept it from starting."""
        outcome: list[BaseException | None] = []
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(settings, started, outcome), name="barnabas", daemon=True
        )
        self._thread.start()
        if not started.wait(START_TIMEOUT_S):
            raise TimeoutError(f"the broker did not start in {START_TIMEOUT_S:.0f} s")
        if outcome[0] is not None:
            self._thread.join()
            self._thread = None
            raise outcome[0]

    def close(self) -> None:
        """Stop the broker in good order, and the thread; what was seen can still be read."""
        if self._thread is None or self._loop is None:
            return
        loop = self._loop
        try:
            self.run(self._hosted.close())
        finally:
            self._loop = None
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            self._thread = None

    def ask(self, method: str, path: str, given: Mapping[str, object]) -> Any:
        """Carry out a command of the control."""
        from barnabas.server.testing.commands import perform  # not paid for by the start

        return self._carry_out(perform(self._hosted, method, path, given))

    def requests(self, given: Mapping[str, object]) -> list[Seen]:
        """What `GET /control/requests` finds, as it is."""
        from barnabas.server.testing import request_commands
        from barnabas.server.testing.fields import Fields

        fields = Fields("GET /control/requests", given, request_commands.FIELDS)
        return self._carry_out(request_commands.find(self._hosted, fields))

    def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the loop and return what it returns."""

        async def on_loop() -> T:
            return function()

        return self.run(on_loop())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return what it returns. Raises NotRunning."""
        if self._loop is None:
            work.close()
            raise NotRunning("the broker is not running")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _carry_out(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a command on the loop; when that has ended, only what has not to wait for it."""
        if self._loop is not None:
            return self.run(work)
        try:
            work.send(None)
        except StopIteration as done:
            answer: T = done.value
            return answer
        work.close()
        raise NotRunning("the broker is not running")

    def _run(
        self,
        settings: Mapping[str, str],
        started: threading.Event,
        outcome: list[BaseException | None],
    ) -> None:
        loop = new_event_loop()
        try:
            self._host = loop.run_until_complete(_opened(settings))
            self._loop = loop
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)
            started.set()
            loop.close()
            return
        started.set()
        try:
            loop.run_forever()
        finally:
            loop.close()


async def _opened(settings: Mapping[str, str]) -> Host:
    host = Host(partial(_load, settings))
    await host.open()
    return host


def _load(settings: Mapping[str, str], pinned: Mapping[str, str]) -> Any:
    return load_config((), {**settings, **pinned})
