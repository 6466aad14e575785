"""Two brokers in one process that are told who leads as a controller would, past their own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from barnabas.server.broker import Broker
from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.network.reactor import new_event_loop
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.header import walk
from barnabas.storage.log.results import ReadBound
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.records import make_batch
from tests.server.waiting import eventually

TOPIC = "t"
HASTY = {"controlled_shutdown_enable": "false"}  # nobody would take over what they lead


class Scene:
    """Brokers 0 and 1, and a topic that is on both."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.topic: TopicInfo
        self.epoch = 0

    @property
    def brokers(self) -> list[Broker]:
        return [self.cluster.brokers[0], self.cluster.brokers[1]]

    async def create(self, partitions: int = 1, **settings: str) -> None:
        """Make the topic; broker 0 leads every partition of it."""
        configs = {name.replace("_", "."): text for name, text in settings.items()}
        await self.brokers[0].topics.create(
            TOPIC, {index: [0, 1] for index in range(partitions)}, configs
        )
        for broker in self.brokers:
            assert await broker.topics.wait_until_served(TOPIC, 10_000, partitions)
            await eventually(partial(self._holds_all, broker, partitions))
        self.topic = self.brokers[0].metadata.topics[TOPIC]

    def _holds_all(self, broker: Broker, partitions: int) -> bool:
        return len(broker.replicas.of_topic(TOPIC)) == partitions

    async def lead(self, leader: int, told: tuple[int, ...] = (0, 1)) -> None:
        """In a new epoch this broker leads, and those that are `told` know it."""
        self.epoch += 1
        infos = tuple(
            PartitionInfo(each.index, leader, self.epoch, (0, 1), (leader,))
            for each in self.topic.partitions
        )
        for broker_id in told:
            topic = TopicInfo(TOPIC, self.topic.topic_id, infos)
            await self.cluster.brokers[broker_id].hosting.lead_or_follow(topic)

    async def return_of(self, broker_id: int) -> None:
        """Start a broker again, and wait until it holds the topic, led by broker 0."""
        broker = await self.cluster.start(broker_id, **HASTY)
        assert await broker.topics.wait_until_served(TOPIC, 10_000, len(self.topic.partitions))
        await eventually(partial(self._holds_all, broker, len(self.topic.partitions)))
        await eventually(lambda: self.replica(0).is_leader)
        self.epoch = self.replica(0).leader_epoch

    def replica(self, broker_id: int, index: int = 0) -> Partition:
        return self.cluster.brokers[broker_id].replicas.require(TOPIC, index)

    def write(self, broker_id: int, *values: bytes, index: int = 0) -> None:
        """Append a batch for each value to a leader's log, and wake who waits for it."""
        partition, broker = self.replica(broker_id, index), self.cluster.brokers[broker_id]
        for value in values:
            partition.append(make_batch(value), 1, broker.clock.now_ms())
        broker.fetches.complete(partition.key)

    def content(self, broker_id: int, index: int = 0) -> bytes:
        """All bytes of a log from its start on."""
        log = self.replica(broker_id, index).log
        found, offset = bytearray(), log.log_start_offset
        while offset < log.log_end_offset:
            result = log.read(offset, 1 << 20, bound=ReadBound.LOG_END)
            assert result.records is not None
            data = result.records.read()
            found += data
            offset = last_offset_of(data) + 1
        return bytes(found)

    async def agree(self, index: int = 0) -> None:
        """Wait until both logs are the same, byte for byte, with the same offsets."""
        await eventually(lambda: self.state(0, index) == self.state(1, index))
        assert self.content(0, index) == self.content(1, index)

    def state(self, broker_id: int, index: int = 0) -> tuple[int, int, int, list[tuple[int, int]]]:
        log = self.replica(broker_id, index).log
        epochs = [each for each in log.epochs.entries() if each[1] < log.log_end_offset]
        return log.log_start_offset, log.high_watermark, log.log_end_offset, epochs


def last_offset_of(data: bytes) -> int:
    return list(walk(data, partial_tail=True))[-1].last_offset


@contextlib.asynccontextmanager
async def scene_in(
    folder: Path, of_second: Mapping[str, str], **settings: str
) -> AsyncIterator[Scene]:
    async with cluster_of(folder, 0) as cluster:
        await cluster.start(0, **HASTY, **settings)
        await cluster.start(1, **{**HASTY, **settings, **of_second})
        yield Scene(cluster)


def play(
    folder: Path,
    work: Callable[[Scene], Awaitable[None]],
    of_second: Mapping[str, str] = MappingProxyType({}),
    **settings: str,
) -> None:
    """Run one scene, on the loop that brokers run on."""

    async def run() -> None:
        async with scene_in(folder, of_second, **settings) as scene:
            await work(scene)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())
