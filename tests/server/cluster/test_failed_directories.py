"""The controller hears of every lost data directory, as long as the broker is not at its end."""

import asyncio
import io
from typing import Any

from barnabas.server.cluster.failed_directories import FIRST_PAUSE_MS, FailedDirectories
from barnabas.server.core.clock import ManualClock
from barnabas.server.observing.logs import Logs
from barnabas.server.registry.notices import encode_log_dir_event
from barnabas.server.registry.znodes.store import StoreFailed

BROKER_ID = 3


class Registry:
    """Notices, of which the first are lost."""

    def __init__(self, failures: int) -> None:
        self.added: list[bytes] = []
        self._failures = failures

    async def add(self, body: bytes) -> None:
        if self._failures:
            self._failures -= 1
            raise StoreFailed("/x")
        self.added.append(body)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def made(registry: Any) -> tuple[FailedDirectories, ManualClock]:
    clock = ManualClock()
    log = Logs("debug", io.StringIO()).room("replication")
    return FailedDirectories(BROKER_ID, registry, clock, log), clock


def test_the_registry_is_told_until_it_has_it() -> None:
    async def scene() -> None:
        registry = Registry(failures=1)
        failed, clock = made(registry)
        failed.tell()
        await turns()
        assert registry.added == []
        clock.advance(FIRST_PAUSE_MS)
        await turns()
        assert registry.added == [encode_log_dir_event(BROKER_ID)]

    asyncio.run(scene())


def test_at_the_end_nobody_is_told_and_nothing_is_left_to_do() -> None:
    async def scene() -> None:
        registry = Registry(failures=1)
        failed, _ = made(registry)
        failed.tell()
        await turns()
        failed.stop()
        failed.tell()  # a directory that fails as its logs are closed
        await turns()
        assert registry.added == []
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scene())
