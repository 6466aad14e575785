"""One broker's coordinator, markers and partitions, on real logs and a clock that stands still.

It can lose its memory (`crash`), lose and regain leaderships, and its markers can get lost on
the way there or back. Everything else is as in a broker; verification is done as Produce does
it: a guard, the coordinator's word, then the append.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core.awaiting import given
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.errors import ApiError, Unanswered, code_of
from barnabas.server.core.topic_names import TRANSACTION_TOPIC
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Logs
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.server.settings.config import load_config
from barnabas.server.transactions.coordinator import TransactionCoordinator
from barnabas.server.transactions.marker_log import LocalMarkers
from barnabas.server.transactions.markers import MarkerSender
from barnabas.server.transactions.transaction import ProducerIdAndEpoch
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.errors import StorageError
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest
from barnabas.wire.uuids import Uuid
from tests.server.coordinators.world import CONFIG, CoordinatorWorld
from tests.server.replication.leaders import leader_parts

T = TypeVar("T")
DATA = "data"
PARTITIONS = 3
NO_TIME_LIMIT_NS = 1 << 60
ROUNDS = 60
"""Turns of the loop after which nothing moves any more that does not wait for the clock."""
REFUSED = (ApiError, StorageError)


class Way(Enum):
    """What becomes of markers on their way."""

    OPEN = "they are written and answered"
    LOST = "they do not arrive"
    UNANSWERED = "they are written, the answer is lost"
    NO_LEADER = "nobody leads the partitions"


class Stage(CoordinatorWorld):
    """The broker."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, TRANSACTION_TOPIC, 1)
        self.directory = directory
        self.config = load_config((), {"transaction.state.log.num.partitions": 1})
        self.log = Logs("error").room("transactions")
        self.version = 2
        self.way = Way.OPEN
        self.handed_out = 0
        self.state_epoch = 0
        self._make()

    def _make(self) -> None:
        """Make a broker over the logs that there are."""
        self.transactions = TransactionCoordinator(
            self.config, self.clock, self.metadata, self.produces, self.fetches, self.disks.flush,
            self._make_markers, self._take_producer_id, lambda: self.version, self.log,
        )  # fmt: skip
        self.shards, self.leadership = self.transactions.shards, self.transactions.leadership
        topic = _data_topic(leader_id=0)
        for info in topic.partitions:
            self.replicas.host(topic, info, LogConfig(), self.clock.now_ms())
        self.set_way(self.way)
        self.call(self.lead_state)
        self.run(self.loaded())
        self.transactions.start()

    def _make_markers(self) -> MarkerSender:
        turns = Turns(NO_TIME_LIMIT_NS)  # or a busy machine would change the history
        local = LocalMarkers(
            self.replicas, self.clock, self.produces, self.fetches, self.disks.flush,
            lambda *_: None, lambda: 30_000, turns, self.log,
        )  # fmt: skip

        async def ask(_: int, marker: WritableTxnMarker) -> Mapping[tuple[str, int], ErrorCode]:
            if self.way is Way.LOST:
                raise Unanswered("lost on the way there")
            request = WriteTxnMarkersRequest(markers=[marker])
            answer = await given(await turns.run(local.write(request)))
            if self.way is Way.UNANSWERED:
                raise Unanswered("lost on the way back")
            return {
                (topic.name, each.partition_index): ErrorCode(each.error_code)
                for topic in answer.markers[0].topics
                for each in topic.partitions
            }

        async def exists(*_: object) -> bool:
            return True

        return MarkerSender(self.metadata, ask, exists, self.clock, self.log)

    async def _take_producer_id(self) -> int:
        await asyncio.sleep(0)
        self.handed_out += 1
        return self.handed_out

    # What happens to it.

    def set_way(self, way: Way) -> None:
        """Markers fare like that from now on."""
        self.way = way
        self.metadata.set_topic(_data_topic(-1 if way is Way.NO_LEADER else 0))

    def lead_state(self) -> None:
        """Lead the state's partition anew: it is loaded."""
        self.leadership.resigned(0)
        self.state_epoch += 1
        self.lead(0, self.state_epoch)

    def move(self) -> None:
        """The coordinator goes and comes back."""
        self.call(self.lead_state)
        self.run(self.loaded())

    def crash(self) -> None:
        """Lose everything but what is in the logs, and start again."""
        self.run(self.transactions.stop())
        self.disks.abandon()
        self.produces, self.fetches = (Delayed(self.clock, name) for name in ("Produce", "Fetch"))
        self.disks = LogManager([str(self.directory)])
        configs = {TRANSACTION_TOPIC: CONFIG}
        self.disks.open(lambda name: configs.get(name, LogConfig()), self.clock.now_ms())
        self.replicas = Replicas(0, self.disks, lambda *_: False, Metrics(), leader_parts())
        self._make()

    def end(self) -> None:
        """Close everything."""
        self.run(self.transactions.stop())
        self.close()

    # Doing things on its loop.

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it, and all that follows without the clock."""

        async def with_consequences() -> T:
            result = await work
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            return result

        return self.loop.run_until_complete(with_consequences())

    def call(self, work: Callable[[], T]) -> T:
        """The same for a function."""

        async def called() -> T:
            return work()

        return self.run(called())

    def advance(self, duration_ms: int) -> None:
        """Let time pass."""
        self.call(lambda: self.clock.advance(duration_ms))

    def ask(self, work: Coroutine[Any, Any, T]) -> T | ErrorCode:
        """The answer of the coordinator, or its error."""
        try:
            return self.run(work)
        except ApiError as error:
            return error.code

    # Writing and reading.

    def data(self, index: int) -> Partition:
        """A partition that producers write to."""
        return self.replicas.require(DATA, index)

    def write(
        self,
        name: str,
        producer: ProducerIdAndEpoch,
        index: int,
        sequence: int,
        value: bytes,
        *,
        raises_epoch: bool,
    ) -> int | ErrorCode:
        """Append a value in a transaction as Produce does; its offset, or the error."""
        partition, now_ms = self.data(index), self.clock.now_ms()
        batch = build_batch(
            [Record(0, now_ms, b"k", value)], producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch, base_sequence=sequence, is_transactional=True,
        )  # fmt: skip
        try:
            guard = partition.log.appender.start_transaction_verification(
                producer.producer_id, producer.producer_epoch, sequence, now_ms,
                can_bump_epoch=raises_epoch,
            )  # fmt: skip
            partition.log.appender.verifies_transactions = True
            if guard is not None:
                found = self.transactions.verify_partitions(name, *producer, [(DATA, index)])
                if found[DATA, index] is not ErrorCode.NONE:
                    return found[DATA, index]
            return partition.append(batch, -1, now_ms, verification_guard=guard).first_offset
        except REFUSED as error:
            return code_of(error)

    def committed(self, index: int) -> list[bytes]:
        """What a consumer of committed records sees, by what a fetch tells it."""
        log = self.data(index).log
        values: list[bytes] = []
        offset = log.log_start_offset
        aborting: set[int] = set()
        while offset < log.last_stable_offset:
            found = log.read(offset, 1 << 20, bound=ReadBound.LAST_STABLE)
            aborted = sorted(found.aborted_transactions or [], key=lambda each: each[1])
            data = found.records.read() if found.records is not None else b""
            for header in walk(data, partial_tail=True):
                while aborted and aborted[0][1] <= header.last_offset:
                    aborting.add(aborted.pop(0)[0])
                offset = header.next_offset
                if header.is_control:
                    aborting.discard(header.producer_id)
                elif header.producer_id not in aborting:
                    values += [record.value or b"" for record in decode_batch(data, header)]
        return values


def _data_topic(leader_id: int) -> TopicInfo:
    infos = tuple(PartitionInfo(n, leader_id, 1, (0,), (0,)) for n in range(PARTITIONS))
    return TopicInfo(DATA, Uuid(b"d" * 16), infos)
