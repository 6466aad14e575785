"""One broker's partitions of an internal topic, on real logs and a clock that stands still."""

import asyncio
import time
from pathlib import Path
from typing import Any

from barnabas.server.cluster.metadata import ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.coordinators.leadership import Leadership
from barnabas.server.coordinators.shards import Shards
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.delayed import Delayed
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.uuids import Uuid
from tests.server.replication.leaders import leader_parts

CONFIG = LogConfig(cleanup_policy=("compact",))
DEADLINE_S = 30


class CoordinatorWorld:
    """What a coordinator of `topic` needs of a broker; it is given by `lead_all`."""

    shards: Shards[Any]
    leadership: Leadership[Any]

    def __init__(self, directory: Path, topic: str, partitions: int) -> None:
        self.topic = topic
        self.partitions = partitions
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.disks = LogManager([str(directory)])
        self.disks.open(lambda _: CONFIG, self.clock.now_ms())
        self.metadata = ClusterMetadata()
        self.replicas = Replicas(0, self.disks, lambda *_: False, Metrics(), leader_parts())
        self.produces = Delayed(self.clock, "Produce")
        self.fetches = Delayed(self.clock, "Fetch")
        self.add_topic(topic, partitions)

    def add_topic(self, name: str, count: int) -> None:
        """A topic that the cluster knows."""
        infos = tuple(PartitionInfo(index, 0, 1, (0,), (0,)) for index in range(count))
        topic_id = Uuid(name.encode().ljust(16, b"-")[:16])
        self.metadata.set_topic(TopicInfo(name, topic_id, infos))

    def lead_all(self, shards: Shards[Any], leadership: Leadership[Any]) -> None:
        """Have the coordinator lead every partition, and load it."""
        self.shards, self.leadership = shards, leadership
        for index in range(self.partitions):
            self.loop.run_until_complete(self._load(index, 1))

    def lead(self, index: int, epoch: int, isr: tuple[int, ...] = (0,)) -> Partition:
        """Become leader of a partition of the topic, or stay it in a new epoch."""
        info = PartitionInfo(index, 0, epoch, isr, isr)
        topic = TopicInfo(self.topic, Uuid(b"o" * 16), (info,))
        partition = self.replicas.host(topic, info, CONFIG, self.clock.now_ms())
        self.leadership.elected(partition)
        return partition

    def followers_catch_up(self, index: int = 0) -> None:
        """All in-sync replicas have caught up."""
        partition = self.partition(index)
        partition.log.maybe_increment_high_watermark(partition.log.log_end_offset)
        self.produces.complete(partition.key)

    def partition(self, index: int = 0) -> Partition:
        """A partition of the topic."""
        return self.replicas.require(self.topic, index)

    def reload(self, index: int = 0) -> None:
        """Lose and regain the leadership of a partition, and have it loaded."""
        epoch = self.partition(index).leader_epoch
        self.leadership.resigned(index)
        self.loop.run_until_complete(self._load(index, epoch + 1))

    async def _load(self, index: int, epoch: int) -> None:
        self.lead(index, epoch)
        await self.loaded()

    async def loaded(self) -> None:
        """Wait until every partition is loaded."""
        deadline = time.monotonic() + DEADLINE_S
        while self.shards.is_loading:
            assert time.monotonic() < deadline
            await asyncio.sleep(0)

    async def replayed(self) -> None:
        """Wait until every partition is read to its end, whether it is safe or not."""
        deadline = time.monotonic() + DEADLINE_S
        while not all(shard.is_replayed for shard in self.shards):
            assert time.monotonic() < deadline
            await asyncio.sleep(0)

    def records(self, index: int = 0) -> list[tuple[BatchHeader, Record]]:
        """Everything in one partition of the topic."""
        log = self.partition(index).log
        read: list[tuple[BatchHeader, Record]] = []
        offset = log.log_start_offset
        while offset < log.log_end_offset:  # segment by segment
            found = log.read(offset, 1 << 30, bound=ReadBound.LOG_END).records
            data = found.read() if found is not None else b""
            for header in walk(data):
                read += [(header, record) for record in decode_batch(data, header)]
                offset = header.next_offset
        return read

    def close(self) -> None:
        """Close the logs."""
        self.loop.close()
        self.disks.close()
