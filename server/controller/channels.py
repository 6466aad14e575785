"""The brokers as the controller tells them: each hears everything in order, one request at a time.

A request without an answer is sent again, for as long as the broker keeps the registration it was
made for; what comes behind it waits. The controller's own broker is told by a direct call, and has
carried it out when the call returns.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from barnabas.server.core.awaiting import Backoff
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered
from barnabas.server.observing.logs import Log
from barnabas.server.registry.brokers import RegisteredBroker
from barnabas.wire.schema import Message

FIRST_PAUSE_MS: Final = 100.0
LONGEST_PAUSE_MS: Final = 1_000.0

Ask = Callable[[RegisteredBroker, Message, int], Awaitable[Message]]
"""A broker's answer to a request at a version. Raises Unanswered."""
Answered = Callable[[Message], None]


class Telling(NamedTuple):
    """A request on its way to a broker, and who hears of the answer."""

    request: Message
    version: int
    on_answer: Answered | None = None


class Channel:
    """What one broker has still to be told."""

    def __init__(self, broker: RegisteredBroker, ask: Ask, clock: Clock, log: Log) -> None:
        self.broker = broker
        self._ask = ask
        self._clock = clock
        self._log = log
        self._queue: deque[Telling] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, telling: Telling) -> None:
        """Tell it after all that waits."""
        self._queue.append(telling)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        """Tell nothing more."""
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while self._queue:
            telling = self._queue[0]
            answer = await self._until_answered(telling)
            self._queue.popleft()
            if telling.on_answer is not None:
                telling.on_answer(answer)
        self._task = None

    async def _until_answered(self, telling: Telling) -> Message:
        backoff = Backoff(self._clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        while True:
            try:
                return await self._ask(self.broker, telling.request, telling.version)
            except Unanswered as error:
                if backoff.failures == 0:
                    self._log.warn(
                        "a broker does not answer its controller",
                        broker=self.broker.registration.broker_id, error=error,
                    )  # fmt: skip
            await backoff.wait()


class Channels:
    """All live brokers."""

    def __init__(self, own_id: int, ask_itself: Ask, ask: Ask, clock: Clock, log: Log) -> None:
        self.own_id = own_id
        self._ask_itself = ask_itself
        self._ask = ask
        self._clock = clock
        self._log = log
        self._channels: dict[int, Channel] = {}

    def follow(self, live: Mapping[int, RegisteredBroker]) -> None:
        """Tell these from now on; one that is registered anew is told nothing of before."""
        for broker_id, channel in list(self._channels.items()):
            if live.get(broker_id) != channel.broker:
                self._channels.pop(broker_id).close()
        for broker_id, broker in live.items():
            if broker_id != self.own_id and broker_id not in self._channels:
                self._channels[broker_id] = Channel(broker, self._ask, self._clock, self._log)

    async def tell(self, to: RegisteredBroker, telling: Telling) -> None:
        """Tell a broker; another one in its turn, this one at once."""
        broker_id = to.registration.broker_id
        if broker_id != self.own_id:
            if (channel := self._channels.get(broker_id)) is not None:
                channel.put(telling)
            return
        answer = await self._ask_itself(to, telling.request, telling.version)
        if telling.on_answer is not None:
            telling.on_answer(answer)

    def close(self) -> None:
        """The office is lost: tell nobody anything more."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
