"""Producer ids for this broker: blocks of a thousand from the registry, fetched ahead.

Every broker hands out its own block; when nine tenths of it are gone the next is asked for, so
that a client seldom waits for the registry. Ids of a block that a stopping broker had left are
never used, as in Kafka.
"""

import asyncio

from barnabas.server.registry.bodies import ProducerIdBlock
from barnabas.server.registry.producer_ids import ProducerIds

FETCH_AHEAD_SHARE = 10  # the next block is fetched when a tenth of this one is left


class ProducerIdPool:
    """The ids this broker may hand out."""

    def __init__(self, source: ProducerIds, broker_id: int) -> None:
        self._source = source
        self._broker_id = broker_id
        self._next = self._end = 0
        self._ahead_at = 0
        self._coming: asyncio.Task[ProducerIdBlock] | None = None

    async def take(self) -> int:
        """An id that nobody has had; waits for the registry when the block is used up.

        Raises what the registry raises.
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
