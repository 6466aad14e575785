"""How long the broker's event loop is busy with anything before it looks at the others again.

Measured in processor time of the broker's own thread, so that a busy machine does not matter.
"""

import time
from types import TracebackType
from typing import Self

from barnabas.server.testing.broker import Broker


class LoopProbe:
    """Comes by in every pass of the loop, and keeps the longest of them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._running = False
        self._last_s = 0.0
        self._longest_s = 0.0

    def __enter__(self) -> Self:
        self._running = True
        self._broker.call(self._begin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running = False

    def take_ms(self) -> float:
        """The longest pass since this was asked last."""

        def take() -> float:
            self._pass()
            longest_s, self._longest_s = self._longest_s, 0.0
            return longest_s * 1000

        return self._broker.call(take)

    def _begin(self) -> None:
        self._last_s = time.thread_time()
        self._schedule()

    def _schedule(self) -> None:
        from asyncio import get_running_loop

        get_running_loop().call_soon(self._come_by)

    def _come_by(self) -> None:
        if self._running:
            self._pass()
            self._schedule()

    def _pass(self) -> None:
        now_s = time.thread_time()
        self._longest_s = max(self._longest_s, now_s - self._last_s)
        self._last_s = now_s
