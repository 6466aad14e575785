"""Waiting for what a test has set going: never by the clock alone, never past a deadline."""

import asyncio
import time
from collections.abc import Callable

from barnabas.server.testing.broker import Broker

PATIENCE_S = 60.0


def wait_until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Wait for a condition with a deadline."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.002)


def wait_until_watched(broker: Broker, topic: str, partition: int = 0) -> None:
    """Wait until a fetch is parked for want of records in a partition."""
    watched = broker.server.fetches.is_watched
    wait_until(lambda: broker.call(lambda: watched((topic, partition))))


async def eventually(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Wait in an event loop for a condition with a deadline."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.002)
