"""Partitions on real logs, groups that keep offsets in them, and a clock that stands still."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.turns import Turns
from barnabas.server.groups.commits import Committer, TransactionOf
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.observing.logs import Logs
from barnabas.server.replication.partition import Partition
from barnabas.server.transactions.marker_log import LocalMarkers
from barnabas.storage.log_config import LogConfig
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WriteTxnMarkersResponse,
)
from barnabas.wire.uuids import Uuid
from tests.server.groups.world import World as GroupWorld
from tests.server.transactions.open_transactions import PRODUCER, codes_in, request_of

T = TypeVar("T")
TIMEOUT_MS = 30_000


class World(GroupWorld):
    """A group coordinator, topics led by this broker, and what writes markers into all of them."""

    def __init__(self, directory: Path, partitions: int = 1) -> None:
        super().__init__(directory, partitions=partitions)
        self.turns = Turns()
        self.local = LocalMarkers(
            self.replicas, self.clock, self.produces, self.fetches, self.disks.flush,
            self.groups.end_transaction, lambda: TIMEOUT_MS, self.turns,
            Logs("error").room("transactions"),
        )  # fmt: skip

    def lead_topic(self, name: str, count: int = 1, isr: tuple[int, ...] = (0,)) -> list[Partition]:
        """Lead the partitions of a topic, which is new or known."""
        infos = tuple(PartitionInfo(index, 0, 1, isr, isr) for index in range(count))
        topic = TopicInfo(name, Uuid(name.encode().ljust(16, b"-")[:16]), infos)
        self.metadata.set_topic(topic)
        now_ms = self.clock.now_ms()
        return [self.replicas.host(topic, info, LogConfig(), now_ms) for info in infos]

    def write(self, *markers: WritableTxnMarker) -> Deferred[WriteTxnMarkersResponse]:
        """Have markers written; the answer comes when it comes."""
        return self.run(self.turns.run(self.local.write(request_of(*markers))))

    def written(self, *markers: WritableTxnMarker) -> list[ErrorCode]:
        """The errors of the partitions in their order, for what is answered at once."""
        deferred = self.write(*markers)
        assert deferred.done
        return [ErrorCode(code) for _, code in sorted(codes_in(deferred.answer()).items())]

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine to its end."""
        return self.loop.run_until_complete(work)

    def turn(self, until: Callable[[], bool] = lambda: False, most: int = 200) -> None:
        """Let the loop go round until something holds, or nothing more can be expected."""

        async def rounds() -> None:
            for _ in range(most):
                if until():
                    return
                await asyncio.sleep(0)

        self.run(rounds())

    def commit_in_transaction(self, offset: int, producer_id: int = PRODUCER) -> None:
        """Commit an offset of group g in a transaction that is open."""
        self.groups.commit_in_transaction(
            "g",
            Committer(),
            TransactionOf(producer_id, 0),
            {("orders", 0): CommittedOffset(offset)},
            lambda code: None,
        )

    def write_while_loading(
        self, *markers: WritableTxnMarker, after: int = 0, isr: tuple[int, ...] = (0,)
    ) -> Deferred[WriteTxnMarkersResponse]:
        """Lead the groups' partition anew, and write when so many of its records are read."""

        async def lead_and_write() -> Deferred[WriteTxnMarkersResponse]:
            epoch = self.partition().leader_epoch
            self.leadership.resigned(0)
            partition = self.lead(0, epoch + 1)
            partition.isr = partition.replicas = isr
            for _ in range(after):
                await asyncio.sleep(0)
            assert self.shards.is_loading
            return await self.turns.run(self.local.write(request_of(*markers)))

        return self.run(lead_and_write())

    def replicated(self, partition: Partition) -> None:
        """Every in-sync replica has what is in the log."""
        partition.log.maybe_increment_high_watermark(partition.log.log_end_offset)
        self.produces.complete(partition.key)
