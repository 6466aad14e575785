"""A fetch that waits: what its partitions must come to for its answer to be big enough.

Source: Kafka's DelayedFetch.
"""

from collections.abc import Hashable

from barnabas.server.replication.fetch_reader import FetchReader, holds_back
from barnabas.server.replication.fetch_sessions import Wanted
from barnabas.server.replication.partition import Partition
from barnabas.storage.disk.open_files import ColdRead
from barnabas.storage.log.results import ReadBound


class WatchedFetch:
    """What a parked fetch had read, and what has been added since; asked by partition."""

    __slots__ = (
        "_bound",
        "_bytes",
        "_led_only",
        "_min_bytes",
        "_replica_id",
        "_replicas",
        "_size",
        "_wanted",
    )

    def __init__(self, reader: FetchReader) -> None:
        self._replicas = reader.replicas
        self._replica_id = reader.replica_id
        self._bound = reader.bound
        self._led_only = reader.led_only
        self._min_bytes = reader.min_bytes
        self._size = reader.size
        self._wanted: dict[Hashable, Wanted] = {}
        # What there is of each partition, `_size` in all.
        self._bytes: dict[Hashable, int] = {}
        for _, wanted, answer in reader.answers:
            self._wanted[wanted.topic, wanted.index] = wanted
            if answer.records:
                self._bytes[wanted.topic, wanted.index] = len(answer.records)

    @property
    def keys(self) -> list[Hashable]:
        """The partitions to be parked under."""
        return list(self._wanted)

    def is_ready(self, key: Hashable) -> bool:
        """Whether the partition that changed makes the answer big enough, or an error.

        The others are as they were when they were last asked: a fetch of thousands of
        partitions would otherwise make a produce to any of them thousands of times dearer.
        """
        wanted = self._wanted[key]
        partition = self._replicas.find(wanted.topic or "", wanted.index)
        if partition is None or not partition.is_readable(
            wanted.current_leader_epoch, self._led_only
        ):
            return True
        if wanted.is_of_another_topic(partition.topic_id):
            return True
        if wanted.fetch_offset > partition.log.log_end_offset:
            return True
        if self._end_offset(partition) <= wanted.fetch_offset:
            return False
        quota = self._replicas.leader_quota
        if self._replica_id >= 0 and quota.is_on and holds_back(quota, partition, self._replica_id):
            return False
        if self._min_bytes <= 1:
            return True
        try:
            size = partition.readable_bytes(wanted.fetch_offset, wanted.max_bytes, self._bound)
        except ColdRead:
            return True  # there is more than nothing, and to look up how much would take a disk
        self._size += size - self._bytes.get(key, 0)
        self._bytes[key] = size
        return self._size >= self._min_bytes

    def _end_offset(self, partition: Partition) -> int:
        if self._bound is ReadBound.HIGH_WATERMARK:
            return partition.log.high_watermark
        if self._bound is ReadBound.LOG_END:
            return partition.log.log_end_offset
        return partition.log.last_stable_offset
