"""The markers of an ended transaction: to the leader of every partition, until each has answered.

A transaction whose end has been decided is told to every partition it wrote to; until then readers
of committed data wait there. Nothing gives a marker up but the partition's own end: where nobody
leads, the leader has moved, the disk is offline or an answer was lost, it is sent again.

Kafka 4.4 believes a partition gone that has no leader yet when the coordinator is loaded, right
after a start (KAFKA-20734): the end is then recorded as made known, and readers wait for ever.
Here only the registry's word counts.

    ask the leaders ── done, or the message format knows no transactions ──> done
          │   └─ another coordinator, or another epoch of the producer ────> the caller is told
          └─ anything else ── pause ── not in the registry any more ───────> done
                                 └──── ask the leaders again
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, NamedTuple

from barnabas.server.cluster.metadata import NO_LEADER, ClusterMetadata
from barnabas.server.core.awaiting import Backoff
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError, Unanswered, is_expected
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.observing.logs import Log
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic

FIRST_PAUSE_MS: Final = 10.0
LONGEST_PAUSE_MS: Final = 1_000.0
SAID_AFTER_FAILURES: Final = 10
"""Some seconds: until then it is nothing that a start or a moved leader would not explain."""

AskLeader = Callable[[int, WritableTxnMarker], Awaitable[Mapping[TopicPartition, ErrorCode]]]
"""Has a broker write a marker to its partitions: what became of each. Raises Unanswered."""
Exists = Callable[[str, int], Awaitable[bool]]
"""Whether the registry has the partition. Raises what the registry raises."""

_DONE: Final = frozenset(
    # Clients could not write transactions to partitions of an old format either.
    {ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION}
)


class EndedTransaction(NamedTuple):
    """What the markers say, and where.

    `marker_epoch` is the producer's epoch in the markers: with transactions version 2 one above
    that of the records.
    """

    transactional_id: str
    producer_id: int
    marker_epoch: int
    is_commit: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: frozenset[TopicPartition]

    def marker(self, partitions: Iterable[TopicPartition]) -> WritableTxnMarker:
        """The marker for some of the partitions."""
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(partitions):
            topics.setdefault(topic, []).append(index)
        return WritableTxnMarker(
            producer_id=self.producer_id,
            producer_epoch=self.marker_epoch,
            transaction_result=self.is_commit,
            topics=[
                WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
                for name, indexes in topics.items()
            ],
            coordinator_epoch=self.coordinator_epoch,
            transaction_version=self.transaction_version,
        )


class MarkerSender:
    """Makes ends of transactions known."""

    def __init__(
        self, metadata: ClusterMetadata, ask: AskLeader, exists: Exists, clock: Clock, log: Log
    ) -> None:
        self._metadata = metadata
        self._ask = ask
        self._exists = exists
        self._clock = clock
        self._log = log

    async def write(self, ended: EndedTransaction) -> None:
        """Return when every partition's leader has its marker, or the partition is gone for good.

        Cancel it when the coordinator's leadership is over. Raises ApiError, where the transaction
        is not this coordinator's any more: TRANSACTION_COORDINATOR_FENCED at once, and
        INVALID_PRODUCER_EPOCH when all other partitions have their markers.
        """
        fenced: set[TopicPartition] = set()
        await self._deliver(ended, ended.partitions, fenced)
        if fenced:
            partitions = ", ".join(f"{topic}-{index}" for topic, index in sorted(fenced))
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, partitions)

    async def _deliver(
        self,
        ended: EndedTransaction,
        partitions: frozenset[TopicPartition],
        fenced: set[TopicPartition],
    ) -> None:
        """To these partitions; those of one leader do not wait for those of another."""
        backoff = Backoff(self._clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        while partitions:
            leaders = self._by_leader(partitions)
            if len(leaders) > 1:
                await _together(self._deliver(ended, each, fenced) for each in leaders.values())
                return
            (leader_id,) = leaders
            codes = await self._ask_leader(leader_id, ended, partitions)
            for key in partitions:
                if codes.get(key) is ErrorCode.TRANSACTION_COORDINATOR_FENCED:
                    raise ApiError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, f"{key[0]}-{key[1]}")
                if codes.get(key) is ErrorCode.INVALID_PRODUCER_EPOCH:
                    fenced.add(key)
            partitions = frozenset(
                key for key in partitions - fenced if codes.get(key) not in _DONE
            )
            if partitions:
                self._say(ended, partitions, codes, backoff.failures)
                await backoff.wait()
                partitions = await self._still_there(partitions)

    def _by_leader(
        self, partitions: frozenset[TopicPartition]
    ) -> dict[int, frozenset[TopicPartition]]:
        found: dict[int, set[TopicPartition]] = {}
        for key in partitions:
            info = self._metadata.partition(*key)
            found.setdefault(NO_LEADER if info is None else info.leader_id, set()).add(key)
        return {leader_id: frozenset(keys) for leader_id, keys in found.items()}

    async def _ask_leader(
        self, leader_id: int, ended: EndedTransaction, partitions: frozenset[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """What a leader answered; nothing where there is none, or none that answers."""
        if leader_id == NO_LEADER:
            return {}
        try:
            return await self._ask(leader_id, ended.marker(partitions))
        except Unanswered:
            return {}
        except Exception as error:  # a marker is not lost because something else is wrong
            self._log.unexpected("markers were not sent", error, leader=leader_id)
            return {}

    async def _still_there(
        self, partitions: frozenset[TopicPartition]
    ) -> frozenset[TopicPartition]:
        """Those that are not gone for good: what is known here may be behind the registry."""
        gone = set()
        for key in partitions:
            if self._metadata.partition(*key) is None and not await self._is_registered(*key):
                self._log.info("a deleted partition needs no marker", topic=key[0], index=key[1])
                gone.add(key)
        return partitions - gone

    async def _is_registered(self, topic: str, index: int) -> bool:
        try:
            return await self._exists(topic, index)
        except Exception as error:  # the registry cannot be asked now
            if not is_expected(error):
                self._log.unexpected("the registry was not asked", error, topic=topic)
            return True

    def _say(
        self,
        ended: EndedTransaction,
        partitions: frozenset[TopicPartition],
        codes: Mapping[TopicPartition, ErrorCode],
        failures: int,
    ) -> None:
        """Markers that are long in coming are said once."""
        if failures == SAID_AFTER_FAILURES:
            topic, index = key = min(partitions)
            code = codes.get(key)
            self._log.warn(
                "the markers of a transaction wait",
                transactional_id=ended.transactional_id, partitions=len(partitions),
                first=f"{topic}-{index}", answer="none" if code is None else code.name,
            )  # fmt: skip


async def _together(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it; one that fails ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
