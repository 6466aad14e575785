"""A transaction coordinator on real logs and a clock that stands still."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TRANSACTION_TOPIC
from barnabas.server.observing.logs import Logs
from barnabas.server.settings.config import load_config
from barnabas.server.transactions.coordinator import TransactionCoordinator
from barnabas.server.transactions.markers import EndedTransaction
from barnabas.server.transactions.records import decode_key, decode_value
from barnabas.server.transactions.transaction import (
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    ProducerIdAndEpoch,
    Transaction,
)
from barnabas.wire.error_codes import ErrorCode
from tests.server.coordinators.world import CoordinatorWorld

T = TypeVar("T")
TIMEOUT_MS = 60_000
A, B = ("orders", 0), ("orders", 1)


class FakeMarkers:
    """Takes markers down; lets each through when it is told to, at once unless `holds`."""

    def __init__(self) -> None:
        self.holds = False
        self.refuses: ErrorCode | None = None
        self.written: list[EndedTransaction] = []
        self.begun: list[EndedTransaction] = []
        self._waiting: list[asyncio.Future[None]] = []

    async def write(self, ended: EndedTransaction) -> None:
        """Write them."""
        self.begun.append(ended)
        if self.refuses is not None:
            raise ApiError(self.refuses)
        if self.holds:
            waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waits)
            await waits
        self.written.append(ended)

    def release(self) -> None:
        """Let through what is held, and what comes."""
        self.holds = False
        for waits in self._waiting:
            if not waits.done():
                waits.set_result(None)
        self._waiting = []


class World(CoordinatorWorld):
    """One coordinator; partitions of __transaction_state are led by broker 0 from the start."""

    def __init__(
        self, directory: Path, settings: Mapping[str, object] | None = None, partitions: int = 1
    ) -> None:
        super().__init__(directory, TRANSACTION_TOPIC, partitions)
        chosen = {"transaction.state.log.num.partitions": partitions}
        self.config = load_config((), {**chosen, **(settings or {})})
        self.markers = FakeMarkers()
        self.version = TRANSACTIONS_V2
        self.next_producer_id = 1000
        self.transactions = TransactionCoordinator(
            self.config, self.clock, self.metadata, self.produces, self.fetches, self.disks.flush,
            lambda: self.markers, self._take_producer_id, lambda: self.version,
            Logs("error").room("transactions"),
        )  # fmt: skip
        self.lead_all(self.transactions.shards, self.transactions.leadership)
        self.transactions.start()

    async def _take_producer_id(self) -> int:
        await asyncio.sleep(0)
        self.next_producer_id += 1
        return self.next_producer_id

    def close(self) -> None:
        """Stop the coordinator, close the logs."""
        self.run(self.transactions.stop())
        super().close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it on the loop, and whatever follows from it."""

        async def with_consequences() -> T:
            result = await work
            for _ in range(10):
                await asyncio.sleep(0)
            return result

        return self.loop.run_until_complete(with_consequences())

    def call(self, work: Callable[[], T]) -> T:
        """The same for a function."""

        async def called() -> T:
            return work()

        return self.run(called())

    def advance(self, duration: float | str) -> None:
        """Let time pass on the loop."""
        self.call(lambda: self.clock.advance(duration))

    def settle(self) -> None:
        """Let everything happen that does not wait for anything."""
        self.call(lambda: None)

    def written_states(self, index: int = 0) -> list[Transaction | None]:
        """What the records of a partition say, None for a tombstone."""
        return [
            None if record.value is None else decode_value(decode_key(record.key), record.value)
            for _, record in self.records(index)
        ]


class Told(NamedTuple):
    """What a request was answered: NONE and the producer, or the error."""

    error: ErrorCode
    producer: ProducerIdAndEpoch


class Producer:
    """A client with a transactional id, as it sees itself."""

    def __init__(self, world: World, name: str = "t", version: int = TRANSACTIONS_V2) -> None:
        self.world, self.name, self.version = world, name, version
        self.producer = ProducerIdAndEpoch(-1, -1)

    def _do(self, work: Coroutine[Any, Any, ProducerIdAndEpoch | None]) -> ErrorCode:
        try:
            producer = self.world.run(work)
        except ApiError as error:
            return error.code
        if producer is not None and producer.producer_id >= 0:
            self.producer = producer
        return ErrorCode.NONE

    def init(self, *, known: bool = False, timeout_ms: int = TIMEOUT_MS) -> ErrorCode:
        """InitProducerId, with what it knows or as a new one; the error."""
        return self._do(
            self.world.transactions.init_producer_id(
                self.name, timeout_ms, self.producer if known else None
            )
        )

    def add(self, *partitions: tuple[str, int]) -> ErrorCode:
        """AddPartitionsToTxn."""
        return self._do(
            self.world.transactions.add_partitions(
                self.name, *self.producer, partitions or (A,), self.version
            )
        )

    def verify(self, *partitions: tuple[str, int]) -> dict[tuple[str, int], ErrorCode] | ErrorCode:
        """AddPartitionsToTxn that only verifies: the codes, or the error of all."""
        try:
            return self.world.transactions.verify_partitions(
                self.name, *self.producer, partitions or (A,)
            )
        except ApiError as error:
            return error.code

    def end(self, *, commit: bool = True, by: ProducerIdAndEpoch | None = None) -> ErrorCode:
        """EndTxn."""
        return self._do(
            self.world.transactions.end(self.name, *(by or self.producer), commit, self.version)
        )

    @property
    def state(self) -> Transaction:
        """What the coordinator knows of it."""
        return self.world.transactions.describe(self.name)


__all__ = ["TIMEOUT_MS", "TRANSACTIONS_V1", "TRANSACTIONS_V2", "A", "B", "Producer", "World"]
