"""Clients of a simulation, as careful as good ones are, and what they remember."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered
from barnabas.server.peers.link import Link
from barnabas.storage.batch.records import decode_all
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.schema import Message
from tests.server.records import Producer as ProducerOf
from tests.server.records import make_batch, produce_request

from .network import CLIENT, Network

TOPIC: Final = "t"
TIMEOUT_MS: Final = 2_000.0
PAUSE_S: Final = 0.1
LEADERS_ONLY: Final = 10
"""From version 11 of Fetch on followers answer, too."""
LOST: Final = {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID}

Place = tuple[int, int]
"""Partition and offset."""
Leads = Callable[[int, int], bool]
"""Of a partition and a broker."""


@dataclass
class History:
    """What clients have been told."""

    acknowledged: dict[bytes, Place] = field(default_factory=dict)
    read: dict[Place, bytes] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def saw(self, partition: int, offset: int, value: bytes) -> None:
        """A consumer has read a record."""
        before = self.read.setdefault((partition, offset), value)
        if before != value:
            self.faults.append(f"{TOPIC}-{partition} at {offset} was {before!r}, then {value!r}")


class Cluster:
    """The way to the brokers, with metadata that may be old, but never goes back (KIP-320)."""

    def __init__(self, network: Network, clock: Clock, broker_ids: list[int]) -> None:
        self._network = network
        self._clock = clock
        self._broker_ids = broker_ids
        self._links: dict[int, Link] = {}
        self._leaders: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        """The newest leader epoch heard of, by partition."""

    async def ask(self, broker_id: int, request: Message, version: int) -> Any:
        """A broker's answer. Raises Unanswered."""
        link = self._links.get(broker_id)
        if link is None or not link.is_open:

            async def connect(host: str, port: int) -> Any:
                return await self._network.connect(CLIENT, broker_id)

            link = await Link.open(connect, "", 0, "client", self._clock, TIMEOUT_MS)
            self._links[broker_id] = link
        return await link.ask(request, (version, version))

    async def leader_of(self, partition: int) -> int:
        """Who leads, as somebody says or has said. Raises Unanswered."""
        if partition not in self._leaders:
            await self._learn()
        leader = self._leaders.get(partition, NO_LEADER)
        if leader == NO_LEADER:
            self.forget(partition)
            raise Unanswered("nobody leads")
        return leader

    def forget(self, partition: int) -> None:
        """What is known of a partition was wrong."""
        self._leaders.pop(partition, None)

    async def _learn(self) -> None:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        self._broker_ids.append(self._broker_ids.pop(0))
        for broker_id in self._broker_ids:
            try:
                answer = await self.ask(broker_id, request, 9)
            except Unanswered:
                continue
            for each in [each for topic in answer.topics for each in topic.partitions]:
                self._heard(each.partition_index, each.leader_id, each.leader_epoch)
            return
        raise Unanswered("no broker answers")

    def _heard(self, partition: int, leader: int, epoch: int) -> None:
        if epoch >= self.epochs.get(partition, -1):
            self.epochs[partition] = epoch
            self._leaders[partition] = leader


class Producer:
    """Sends one record after the other to one partition, each until it is acknowledged.

    `leads` tells whether a broker leads a partition by the registry. One that has been deposed and
    has not heard of it may lack what its successor has acknowledged, and then calls the next
    sequence out of order, as Kafka's does; it is believed by who last heard of an older epoch.
    """

    def __init__(
        self, name: str, partition: int, cluster: Cluster, history: History, leads: Leads
    ) -> None:
        self._name = name
        self._partition = partition
        self._cluster = cluster
        self._history = history
        self._leads = leads
        self.is_done = False
        self.last = "nothing was sent"
        """What came of the last try, for whoever wonders why it is not done."""

    async def run(self, count: int, pause_s: float) -> None:
        """Send so many."""
        me = ProducerOf(await self._identity())
        for sequence in range(count):
            value = f"{self._name}-{sequence}".encode()
            offset = await self._send(value, me, sequence)
            self._history.acknowledged[value] = (self._partition, offset)
            await asyncio.sleep(pause_s)
        self.is_done = True

    async def _identity(self) -> int:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        while True:
            try:
                answer = await self._cluster.ask(
                    await self._cluster.leader_of(self._partition), request, 4
                )
                if not answer.error_code:
                    return int(answer.producer_id)
            except Unanswered:
                self._cluster.forget(self._partition)
            await asyncio.sleep(PAUSE_S)

    async def _send(self, value: bytes, me: ProducerOf, sequence: int) -> int:
        while True:
            code = await self._try(value, me, sequence)
            if isinstance(code, tuple):
                return code[0]
            self._cluster.forget(self._partition)
            await asyncio.sleep(PAUSE_S)

    async def _try(
        self, value: bytes, me: ProducerOf, sequence: int
    ) -> tuple[int] | ErrorCode | None:
        batch = make_batch(value, producer=me, sequence=sequence)
        request = produce_request(TOPIC, batch, self._partition, acks=-1)
        try:
            leader = await self._cluster.leader_of(self._partition)
            self.last = f"{value!r} is sent to {leader}"
            led = self._leads(self._partition, leader)
            answer = await self._cluster.ask(leader, request, 9)
        except Unanswered as error:
            self.last = f"{value!r}: {error}"
            return None
        part = answer.responses[0].partition_responses[0]
        code = ErrorCode(part.error_code)
        self.last = f"{value!r}: {code.name} of {leader}"
        if code in LOST and (led or self._leads(self._partition, leader)):
            self._history.faults.append(f"{value!r} after an acknowledged one: {code.name}")
        return code if code else (part.base_offset,)


class Consumer:
    """Reads one partition from its start on, for ever."""

    def __init__(self, partition: int, cluster: Cluster, history: History) -> None:
        self._partition = partition
        self._cluster = cluster
        self._history = history
        self.offset = 0

    async def run(self) -> None:
        """Read until this is cancelled."""
        while True:
            try:
                if await self._fetch():
                    continue
            except Unanswered:
                pass
            self._cluster.forget(self._partition)
            await asyncio.sleep(PAUSE_S)

    async def _fetch(self) -> bool:
        """Whether the leader gave what it has."""
        leader = await self._cluster.leader_of(self._partition)
        answer = await self._cluster.ask(leader, self._request(), LEADERS_ONLY)
        part = answer.responses[0].partitions[0]
        if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._history.faults.append(
                f"{TOPIC}-{self._partition} at {self.offset}, which is read, is out of range"
            )
            self.offset = 0
        if part.error_code:
            return False
        for record in decode_all(memoryview(bytes(part.records or b""))):
            if record.offset >= self.offset:
                self._history.saw(self._partition, record.offset, bytes(record.value or b""))
                self.offset = record.offset + 1
        return True

    def _request(self) -> FetchRequest:
        wanted = FetchPartition(
            partition=self._partition, current_leader_epoch=self._cluster.epochs[self._partition],
            fetch_offset=self.offset, partition_max_bytes=1 << 20,
        )  # fmt: skip
        return FetchRequest(
            max_wait_ms=200, min_bytes=1, max_bytes=1 << 20,
            topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
        )  # fmt: skip
