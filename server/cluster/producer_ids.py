"""Producer ids for this broker: blocks of a thousand, fetched ahead.

Every broker hands out its own block; when nine tenths of it are gone the next is asked for, so
that a client seldom waits for one. Ids of a block that a stopping broker had left are
never used, as in Kafka.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from barnabas.server.registry.bodies import ProducerIdBlock

FETCH_AHEAD_SHARE = 10  # the next block is fetched when a tenth of this one is left


class Blocks(Protocol):
    """Where blocks come from."""

    def next_block(self, broker_id: int) -> Coroutine[Any, Any, ProducerIdBlock]:
        """One that nobody else has had."""


class ProducerIdPool:
    """The ids this broker may hand out."""

    def __init__(self, source: Blocks, broker_id: int) -> None:
        self._source = source
        self._broker_id = broker_id
        self._next = self._end = 0
        self._ahead_at = 0
        self._coming: asyncio.Task[ProducerIdBlock] | None = None

    async def take(self) -> int:
        """An id that nobody has had; waits for the next block when this one is used up.

        Raises what fetching it raises.
        """
        while self._next >= self._end:
            await self._refill()
        taken = self._next
        self._next += 1
        if self._next >= self._ahead_at:
            self._fetch()
        return taken

    def stop(self) -> None:
        """Give up what is being fetched."""
        if self._coming is not None:
            self._coming.cancel()

    def _fetch(self) -> asyncio.Task[ProducerIdBlock]:
        if self._coming is None:
            work = self._source.next_block(self._broker_id)
            self._coming = asyncio.get_running_loop().create_task(work)
            self._coming.add_done_callback(self._came)
        return self._coming

    def _came(self, coming: asyncio.Task[ProducerIdBlock]) -> None:
        """A block that could not be fetched is fetched when it is needed; who waits is told."""
        failed = coming.cancelled() or coming.exception() is not None
        if failed and self._coming is coming:
            self._coming = None

    async def _refill(self) -> None:
        """Begin the next block, unless another waiter has begun it meanwhile."""
        coming = self._fetch()
        try:
            block = await asyncio.shield(coming)
        finally:
            first = self._coming is coming
            if first and coming.done():
                self._coming = None
        if first:
            self._next, self._end = block.start, block.start + block.size
            self._ahead_at = self._end - block.size // FETCH_AHEAD_SHARE
