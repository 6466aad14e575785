"""One broker's transactions, to which things happen at random; one seed is one history.

The coordinator, the markers and the logs are real, time stands still unless it is advanced, and
what the broker asks of itself is lost, refused or late. Partitions lose their leader and get one
again, a topic is deleted, the coordinator moves, the process is killed: then everything in memory
is gone, and partitions come back one by one, those of the coordinators before those of the data.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from barnabas.server.cluster.metadata import (
    NO_LEADER,
    ClusterMetadata,
    PartitionInfo,
    TopicInfo,
)
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.errors import ApiError, Unanswered
from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC, TopicPartition
from barnabas.server.core.turns import Turns
from barnabas.server.groups.commits import Committer, TransactionOf
from barnabas.server.groups.coordinator import GroupCoordinator
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.observing.logs import Logs
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.server.settings.config import load_config
from barnabas.server.transactions.coordinator import TransactionCoordinator
from barnabas.server.transactions.marker_log import LocalMarkers
from barnabas.server.transactions.marker_requests import codes_of
from barnabas.server.transactions.markers import MarkerSender
from barnabas.server.transactions.transaction import (
    NO_PRODUCER,
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    ProducerIdAndEpoch,
)
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import NO_SEQUENCE, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.errors import StorageError
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker
from barnabas.wire.uuids import Uuid
from tests.server.replication.leaders import leader_parts
from tests.server.transactions.open_transactions import request_of

DATA = [("d", 0), ("d", 1), ("e", 0), ("gone", 0)]
OFFSETS, STATE = (OFFSETS_TOPIC, 0), (TRANSACTION_TOPIC, 0)
CONFIG = LogConfig()
TIMEOUT_MS = 60_000
GROUP = "g"


@dataclass
class Attempt:
    """One transaction as its client knows it; `outcome` is None while nobody has been told."""

    number: int
    values: list[tuple[TopicPartition, bytes]] = field(default_factory=list)
    offset: bool = False
    asked: bool | None = None
    outcome: bool | None = None


@dataclass
class Client:
    """A producer with a transactional id."""

    name: str
    version: int
    producer: ProducerIdAndEpoch = NO_PRODUCER
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    attempt: Attempt | None = None
    late: Callable[[], None] | None = None


class History:
    """What happens, by one seed."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = Random(seed)
        self.directory = directory
        self.loop = asyncio.new_event_loop()
        self.now_ms = 1_700_000_000_000
        self.epochs: dict[TopicPartition, int] = {}
        self.registered = {*DATA, OFFSETS, STATE}
        self.next_producer_id = 0
        self.next_number = 0
        self.attempts: list[tuple[Client, Attempt]] = []
        self.is_healed = False
        self.happened: list[str] = []
        self.clients = [
            Client(f"txn-{n}", TRANSACTIONS_V2 if n % 2 else TRANSACTIONS_V1) for n in range(4)
        ]
        self._begin_life()
        for key in sorted(self.registered):
            self._host(key)
        self.turn()

    # The broker.

    def _begin_life(self) -> None:
        self.clock = clock = ManualClock(self.now_ms)
        self.disks = LogManager([str(self.directory)])
        self.disks.open(lambda _: CONFIG, clock.now_ms())
        self.metadata = ClusterMetadata()
        self.replicas = Replicas(0, self.disks, lambda *_: False, Metrics(), leader_parts())
        self.produces, self.fetches = Delayed(clock, "Produce"), Delayed(clock, "Fetch")
        config = load_config(
            (), {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
        )
        log = Logs("error").room("transactions")
        parts = (config, clock, self.metadata, self.produces, self.fetches, self.disks.flush)
        self.turns = Turns()
        self.groups = GroupCoordinator(*parts, log)
        self.local = LocalMarkers(
            self.replicas, clock, self.produces, self.fetches, self.disks.flush,
            self.groups.end_transaction, lambda: 30_000, self.turns, log,
        )  # fmt: skip
        self.sender = MarkerSender(self.metadata, self._ask, self._exists, clock, log)
        self.transactions = TransactionCoordinator(
            *parts, lambda: self.sender, self._take_producer_id, lambda: TRANSACTIONS_V2, log
        )
        self.transactions.start()
        self.unhosted: list[TopicPartition] = []
        self.leaderless: list[TopicPartition] = []

    async def _take_producer_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id

    async def _exists(self, topic: str, index: int) -> bool:
        return (topic, index) in self.registered

    async def _ask(
        self, leader_id: int, marker: WritableTxnMarker
    ) -> Mapping[TopicPartition, ErrorCode]:
        """The way to itself: lost, refused, late, or as it should be."""
        fate = "fine" if self.is_healed else self.random.choice(
            ["fine"] * 4 + ["lost", "answer lost", "refused", "late"]
        )  # fmt: skip
        if fate == "lost":
            raise Unanswered("lost")
        if fate == "refused":
            code = self.random.choice(
                [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]
            )
            keys = ((topic.name, n) for topic in marker.topics for n in topic.partition_indexes)
            return dict.fromkeys(keys, code)
        if fate == "late":
            late = asyncio.Event()
            self.clock.call_later(self.random.choice([5, 500, 50_000]), late.set)
            await late.wait()
        answer = await self.local.serve(request_of(marker))
        if fate == "answer lost":
            raise Unanswered("lost")
        return codes_of(answer).get(marker.producer_id, {})

    def _host(self, key: TopicPartition, *, leads: bool = True) -> None:
        """Lead a partition in a new epoch, or know that nobody does."""
        topic, index = key
        epoch = self.epochs[key] = self.epochs.get(key, 0) + 1
        info = PartitionInfo(index, 0 if leads else NO_LEADER, epoch, (0,), (0,))
        known = self.metadata.topics.get(topic)
        others = known.partitions if known else ()
        infos = {each.index: each for each in others} | {index: info}
        for missing in range(max(infos)):
            infos.setdefault(missing, PartitionInfo(missing, NO_LEADER, 0, (0,), (0,)))
        made = TopicInfo(topic, Uuid(topic.encode().ljust(16, b"-")[:16]), tuple(
            infos[n] for n in sorted(infos)
        ))  # fmt: skip
        self.metadata.set_topic(made)
        partition = self.replicas.host(made, info, CONFIG, self.clock.now_ms())
        partition.log.appender.verifies_transactions = True
        self.produces.complete(partition.key)
        if key in (STATE, OFFSETS):
            self.call(partial(self._coordinate, key, partition if leads else None))

    def _coordinate(self, key: TopicPartition, partition: Partition | None) -> None:
        coordinator = self.transactions if key == STATE else self.groups
        if partition is None:
            coordinator.leadership.resigned(key[1])
        else:
            coordinator.leadership.elected(partition)

    # Running.

    def call(self, work: Callable[[], object]) -> None:
        """Do something on the loop."""

        async def called() -> None:
            work()

        self.loop.run_until_complete(called())

    def turn(self, most: int = 40) -> None:
        """Let the loop go round."""

        async def rounds() -> None:
            for _ in range(most):
                await asyncio.sleep(0)

        self.loop.run_until_complete(rounds())

    def advance(self, duration_ms: float) -> None:
        """Let time pass on the loop."""
        self.call(lambda: self.clock.advance(duration_ms))
        self.turn()

    # Events.

    def happens(self) -> None:
        """One event more."""
        events: list[Callable[[], None]] = [
            *[self.produces_records] * 14, *[self.ends] * 8, *[self.time_passes] * 8,
            *[self.writes_late] * 3, *[self.commits_offset] * 4, *[self.is_hosted] * 8,
            *[self.gets_leader] * 3, self.loses_leader, self.coordinator_moves, self.is_killed,
            self.deletes, self.gives_up,
        ]  # fmt: skip
        event = self.random.choice(events)
        self.happened.append(event.__name__)
        event()
        self.turn(self.random.choice([0, 1, 3, 40]))

    def time_passes(self) -> None:
        self.advance(self.random.choice([10, 100, 1_000, 1_000, 1_000, TIMEOUT_MS / 2]))

    def loses_leader(self) -> None:
        key = self.random.choice([*DATA, OFFSETS])
        if key in self.registered and key not in (*self.unhosted, *self.leaderless):
            self.leaderless.append(key)
            self._host(key, leads=False)

    def gets_leader(self) -> None:
        if self.leaderless:
            self._host(self.leaderless.pop())

    def is_hosted(self) -> None:
        if self.unhosted:
            self._host(self.unhosted.pop(0))

    def coordinator_moves(self) -> None:
        if STATE not in self.unhosted:
            self._host(STATE, leads=False)
            self.turn(self.random.choice([0, 1, 40]))
            self._host(STATE)

    def deletes(self) -> None:
        key = ("gone", 0)
        if self.random.random() < 0.3 and key in self.registered:
            self.registered.discard(key)
            for places in (self.leaderless, self.unhosted):
                if key in places:
                    places.remove(key)
            self.metadata.remove_topics(["gone"])
            self.replicas.delete("gone", [0])
            self.produces.complete(key)

    def is_killed(self) -> None:
        """Everything in memory is gone; what was asked last is not known to have happened."""
        self.now_ms = self.clock.now_ms()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.turn()
        self.disks.abandon()
        for client in self.clients:
            client.late, client.attempt = None, None
        self._begin_life()
        self.unhosted = [STATE, OFFSETS, *(key for key in DATA if key in self.registered)]
        if self.random.random() < 0.5:
            self.random.shuffle(self.unhosted)

    # Clients.

    def _attempt(self, client: Client) -> Attempt | None:
        """The client's transaction; a new one when its producer is known."""
        if client.attempt is None:
            if not self._ask_coordinator(
                client, self.transactions.init_producer_id(client.name, TIMEOUT_MS, None)
            ):
                return None
            client.sequences.clear()
            client.attempt = Attempt(self.next_number)
            self.next_number += 1
            self.attempts.append((client, client.attempt))
        return client.attempt if client.attempt.asked is None else None

    def _ask_coordinator(self, client: Client, work: object) -> bool:
        """Whether it was done; what is not answered at once is given up and not known."""

        async def asked() -> bool:
            task = asyncio.ensure_future(work)  # type: ignore[call-overload]
            for _ in range(20):
                await asyncio.sleep(0)
            if not task.done():
                task.cancel()
                return False
            try:
                producer = task.result()
            except ApiError:
                return False
            if producer is not None and producer != NO_PRODUCER:
                client.producer = ProducerIdAndEpoch(*producer)
            return True

        return self.loop.run_until_complete(asked())

    def produces_records(self) -> None:
        self._produce(self.random.choice(self.clients), self.random.choice(DATA))

    def _produce(self, client: Client, key: TopicPartition) -> None:
        attempt = self._attempt(client)
        if attempt is None or client.late is not None:
            return
        partition = self.replicas.find(*key)
        if partition is None or not partition.is_leader:
            return
        producer = client.producer
        guard = partition.log.appender.start_transaction_verification(
            *producer, client.sequences.get(key, 0), self.clock.now_ms(),
            can_bump_epoch=client.version == TRANSACTIONS_V2,
        )  # fmt: skip
        added = self.transactions.add_partitions(client.name, *producer, [key], client.version)
        if guard is None and client.version == TRANSACTIONS_V2:
            added.close()  # its transaction is open there: nobody is asked
        elif not self._ask_coordinator(client, added):
            return
        if self.random.random() < 0.2:  # it is on its way for a while
            client.late = lambda: self._append(client, attempt, partition, producer, guard)
        else:
            self._append(client, attempt, partition, producer, guard)

    def writes_late(self) -> None:
        client = self.random.choice(self.clients)
        if client.late is not None:
            late, client.late = client.late, None
            late()

    def _append(
        self,
        client: Client,
        attempt: Attempt,
        partition: Partition,
        producer: ProducerIdAndEpoch,
        guard: VerificationGuard | None,
    ) -> None:
        value = f"{client.name}-{attempt.number}-{len(attempt.values)}".encode()
        sequence = client.sequences.get(partition.key, 0)
        now_ms = self.clock.now_ms()
        batch = build_batch(
            [Record(0, now_ms, None, value)], producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch, base_sequence=sequence, is_transactional=True,
        )  # fmt: skip
        try:
            partition.append(batch, -1, now_ms, verification_guard=guard)
        except (ApiError, StorageError):
            self._abandon(client)
            return
        client.sequences[partition.key] = sequence + 1
        attempt.values.append((partition.key, value))

    def commits_offset(self) -> None:
        client = self.random.choice(self.clients)
        attempt = self._attempt(client)
        if attempt is None or attempt.offset or client.late is not None:
            return
        partition = self.replicas.find(*OFFSETS)
        if partition is None or not partition.is_leader:
            return
        producer = client.producer
        guard = partition.log.appender.start_transaction_verification(
            *producer, NO_SEQUENCE, self.clock.now_ms(),
            can_bump_epoch=client.version == TRANSACTIONS_V2,
        )  # fmt: skip
        added = self.transactions.add_partitions(client.name, *producer, [OFFSETS], client.version)
        if not self._ask_coordinator(client, added):
            return
        codes: list[ErrorCode] = []
        try:
            self.groups.commit_in_transaction(
                GROUP,
                Committer(),
                TransactionOf(*producer, guard),
                {(client.name, 0): CommittedOffset(attempt.number)},
                codes.append,
            )
        except ApiError:
            return
        attempt.offset = codes == [ErrorCode.NONE]

    def ends(self) -> None:
        client = self.random.choice(self.clients)
        attempt = client.attempt
        if attempt is None or client.late is not None:
            return
        if attempt.asked is None:
            attempt.asked = self.random.random() < 0.6
        end = self.transactions.end(client.name, *client.producer, attempt.asked, client.version)
        if self._ask_coordinator(client, end):
            attempt.outcome = attempt.asked
            client.attempt = None
            client.sequences.clear() if client.version == TRANSACTIONS_V2 else None
            self._go_on(client, [key for key, _ in attempt.values])

    def _go_on(self, client: Client, written: list[TopicPartition]) -> None:
        """Most producers go on with what they know, some at once where they have just written."""
        if self.random.random() < 0.7:
            client.attempt = Attempt(self.next_number)
            self.next_number += 1
            self.attempts.append((client, client.attempt))
            if written and self.random.random() < 0.7:
                self._produce(client, self.random.choice(written))

    def gives_up(self) -> None:
        client = self.random.choice(self.clients)
        if client.late is None:
            self._abandon(client)

    def _abandon(self, client: Client) -> None:
        """Begin anew: an open transaction is aborted by that."""
        client.attempt = None

    # The end.

    def heal(self) -> None:
        """Everything comes back, and time enough passes for all that is open to end."""
        self.is_healed = True
        for client in self.clients:
            if client.late is not None:
                late, client.late = client.late, None
                late()
        while self.unhosted:
            self.is_hosted()
        while self.leaderless:
            self.gets_leader()
        for _ in range(30):
            self.advance(TIMEOUT_MS / 4)

    def close(self) -> None:
        """Nothing is left behind."""
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.turn()
        self.disks.abandon()
        self.loop.close()

    # What there is to see.

    def committed(self, key: TopicPartition) -> list[bytes]:
        """What a reader of committed data is given of a partition, by its markers alone."""
        given: list[tuple[int, bytes]] = []
        pending: dict[int, list[tuple[int, bytes]]] = {}
        log = self.replicas.require(*key).log
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            found = log.read(offset, 1 << 24, bound=ReadBound.LOG_END).records
            assert found is not None
            data = found.read()
            for header in walk(data):
                offset = header.next_offset
                records = list(decode_batch(data, header))
                if header.is_control:
                    marker = parse_control(records[0])
                    assert isinstance(marker, EndTransactionMarker)
                    ended = pending.pop(header.producer_id, [])
                    given += ended if marker.is_commit else []
                else:
                    values = [(record.offset, record.value or b"") for record in records]
                    pending.setdefault(header.producer_id, []).extend(values)
        assert not pending, f"records of {sorted(pending)} have no marker"
        return [value for _, value in sorted(given)]
