"""Telling the controller that this broker has lost a data directory, until the registry has it."""

import asyncio
from typing import Final

from barnabas.server.core.awaiting import Backoff
from barnabas.server.core.clock import Clock
from barnabas.server.observing.logs import Log
from barnabas.server.registry.changes import Changes
from barnabas.server.registry.notices import encode_log_dir_event
from barnabas.server.registry.znodes.store import ZnodeError

FIRST_PAUSE_MS: Final = 100.0
LONGEST_PAUSE_MS: Final = 10_000.0


class FailedDirectories:
    """One broker's; the notice says nothing of which directory it was."""

    def __init__(self, broker_id: int, events: Changes, clock: Clock, log: Log) -> None:
        self._broker_id = broker_id
        self._events = events
        self._clock = clock
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_over = False

    def tell(self) -> None:
        """One more has failed. Of what fails as the broker ends nobody has to hear."""
        if self._is_over:
            return
        task = asyncio.get_running_loop().create_task(self._until_told())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Tell nobody any more."""
        self._is_over = True
        for task in tuple(self._tasks):
            task.cancel()

    async def _until_told(self) -> None:
        backoff = Backoff(self._clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        while True:
            try:
                await self._events.add(encode_log_dir_event(self._broker_id))
            except ZnodeError as error:
                if backoff.failures == 0:
                    self._log.warn("the controller is not told of a lost directory yet", why=error)
            else:
                return
            await backoff.wait()
