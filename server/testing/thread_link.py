"""A test's broker in a thread of the test's own process, with an event loop of its own.

The brokers of one cluster share the loop, and the registry.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from barnabas.server.broker import Broker as ServerBroker
from barnabas.server.core.clock import Clock
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.settings.config import BrokerConfig, load_config
from barnabas.server.testing.host import Host
from barnabas.server.testing.loop_thread import LoopThread
from barnabas.server.testing.refusals import NotRunning
from barnabas.server.testing.seen import Seen

T = TypeVar("T")


class ThreadLink:
    """The broker's host, and the way to what happens on its loop."""

    def __init__(
        self,
        shared: LoopThread | None = None,
        ensemble: Ensemble | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`shared` is a cluster's thread, which ends it, with its registry and its clock; without
        it there is one of its own.
        """
        self._thread = shared or LoopThread()
        self._is_shared = shared is not None
        self._ensemble = ensemble
        self._clock = clock
        self._host: Host | None = None
        self._is_open = False

    @property
    def is_open(self) -> bool:
        """Whether commands can be given."""
        return self._is_open

    @property
    def port(self) -> int:
        """The port of the first listener; kept when the broker is down."""
        return self.host.endpoints[0].port

    @property
    def bootstrap_servers(self) -> str:
        """Where clients of this machine reach it; kept when the broker is down."""
        return self.host.bootstrap_servers

    @property
    def control_port(self) -> int:
        """The port of the control over HTTP; -1 without one."""
        http = self.host.http
        return -1 if http is None else http.port

    @property
    def server(self) -> ServerBroker:
        """The broker itself. Raises NotRunning."""
        return self.host.broker

    @property
    def host(self) -> Host:
        """What runs the broker. Raises NotRunning before the first start."""
        if self._host is None:
            raise NotRunning("the broker has not been started")
        return self._host

    def open(self, settings: Mapping[str, str]) -> None:
        """Start the thread and the broker in it. Raises what kept it from starting."""
        if not self._is_shared:
            self._thread.open()
        try:
            self._host = self._thread.start(self._opened(settings))
        except BaseException:
            self._end_thread()
            raise
        self._is_open = True

    def close(self) -> None:
        """Stop the broker in good order, and the thread; what was seen can still be read."""
        if not self._is_open or self._thread.is_elsewhere:
            return
        try:
            self.run(self.host.close())
        finally:
            self._is_open = False
            self._end_thread()

    def ask(self, method: str, path: str, given: Mapping[str, object]) -> Any:
        """Carry out a command of the control."""
        from barnabas.server.testing.commands import perform  # not paid for by the start

        return self._carry_out(perform(self.host, method, path, given))

    def requests(self, given: Mapping[str, object]) -> list[Seen]:
        """What `GET /control/requests` finds, as it is."""
        from barnabas.server.testing import request_commands
        from barnabas.server.testing.fields import Fields

        fields = Fields("GET /control/requests", given, request_commands.FIELDS)
        return self._carry_out(request_commands.find(self.host, fields))

    def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the loop and return what it returns. Raises NotRunning."""
        self._require_open()
        return self._thread.call(function)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return what it returns. Raises NotRunning."""
        if not self._is_open:
            work.close()
        self._require_open()
        return self._thread.run(work)

    def _require_open(self) -> None:
        if not self._is_open:
            raise NotRunning("the broker is not running")

    def _carry_out(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a command on the loop; when that has ended, only what has not to wait for it."""
        if self._is_open:
            return self._thread.run(work)
        try:
            work.send(None)
        except StopIteration as done:
            answer: T = done.value
            return answer
        work.close()
        raise NotRunning("the broker is not running")

    async def _opened(self, settings: Mapping[str, str]) -> Host:
        host = Host(partial(_load, settings), ensemble=self._ensemble, clock=self._clock)
        await host.open()
        return host

    def _end_thread(self) -> None:
        if not self._is_shared:
            self._thread.close()


def _load(settings: Mapping[str, str], pinned: Mapping[str, str]) -> BrokerConfig:
    return load_config((), {**settings, **pinned})
