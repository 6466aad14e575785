"""The leader epoch of every record, which Spark's source does not tell.

ListOffsets says the epoch at both ends of a log, and epochs never fall as offsets rise: where
both are the same, so are all between. Only where the leader has changed is the place looked for,
by reading single records with the connector's own consumer, halving.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.land.spark_checkpoint import BatchRanges, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipeline.spark.admin import Admin
    from barnabas.pipeline.spark.kafka import KafkaCluster

# [start, end) -> epoch, in order and without a gap; None where the cluster does not tell
EpochRanges = list[tuple[int, int, int | None]]
POLL_MS = 500
PATIENCE_POLLS = 20


def epoch_ranges(
    start: int, end: int, lowest: int, highest: int, epoch_from: Callable[[int], int | None]
) -> EpochRanges:
    """The epochs of the offsets in [start, end).

    `lowest` is an epoch no record of the range is below of, `highest` one that none is above.
    `epoch_from` gives the epoch of the first record at an offset or later, None where there is
    none before `end`; it is asked O(log n) times for each change.
    """
    if lowest == highest or start >= end:
        return [(start, end, lowest)] if start < end else []
    first = epoch_from(start)
    if first is None:  # no record here: whatever it is called, it is called so
        return [(start, end, lowest)]
    if first >= highest:
        return [(start, end, first)]
    same_until = _end_of_epoch(start, end, first, epoch_from)
    later = epoch_ranges(same_until, end, first + 1, highest, epoch_from)
    return [(start, same_until, first), *later]


def _end_of_epoch(start: int, end: int, epoch: int, epoch_from: Callable[[int], int | None]) -> int:
    """The first offset from which on no record is of the epoch any more."""
    low, high = start + 1, end  # the answer is in [low, high]
    while low < high:
        middle = (low + high) // 2
        found = epoch_from(middle)
        if found is not None and found == epoch:
            low = middle + 1
        else:
            high = middle
    return low


class LeaderEpochs:
    """The epochs of the records of batch after batch."""

    def __init__(self, spark: SparkSession, cluster: KafkaCluster, admin: Admin) -> None:
        self._spark, self._cluster, self._admin = spark, cluster, admin
        self._lowest: dict[TopicPartition, int | None] = {}

    def of(self, ranges: BatchRanges) -> dict[TopicPartition, EpochRanges]:
        """The epochs of what a batch reads."""
        new = [place for place in ranges if place not in self._lowest]
        self._lowest |= {
            place: at.leader_epoch for place, at in self._admin.offsets(new, at="earliest").items()
        }
        highest = {place: at.leader_epoch for place, at in self._admin.offsets(ranges).items()}
        found = {}
        with EpochReader(self._spark, self._cluster, ranges) as reader:
            for place, (start, end) in ranges.items():
                low, high = self._lowest[place], highest[place]
                if low is None or high is None:
                    found[place] = [(start, end, low if low is not None else high)]
                else:
                    found[place] = epoch_ranges(start, end, low, high, reader.epoch_from(place))
                self._lowest[place] = found[place][-1][2]
        return found


class EpochReader:
    """Reads single records of partitions; connects when it is first asked."""

    def __init__(
        self,
        spark: SparkSession,
        cluster: KafkaCluster,
        ranges: Mapping[TopicPartition, tuple[int, int]],
    ) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._cluster, self._ranges = cluster, ranges
        self._consumer: Any = None

    def __enter__(self) -> EpochReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def epoch_from(self, place: TopicPartition) -> Callable[[int], int | None]:
        """Gives the epoch of the first record at an offset or later, before the range's end."""
        return lambda offset: self._read(place, offset, self._ranges[place][1])

    def _read(self, place: TopicPartition, offset: int, end: int) -> int | None:
        consumer = self._opened()
        partition = self._jvm.org.apache.kafka.common.TopicPartition(*place)
        consumer.assign([partition])
        consumer.seek(partition, offset)
        for _ in range(PATIENCE_POLLS):
            records = consumer.poll(self._jvm.java.time.Duration.ofMillis(POLL_MS))
            for record in records.records(partition):
                epoch = record.leaderEpoch()
                if record.offset() >= end or not epoch.isPresent():
                    return None
                return int(epoch.get())
            if consumer.position(partition) >= end:  # past markers, or what was compacted
                return None
        return None

    def _opened(self) -> Any:
        if self._consumer is None:
            bytes_ = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
            properties = {
                **self._cluster.client_properties(),
                "key.deserializer": bytes_,
                "value.deserializer": bytes_,
                "max.poll.records": "1",
                "max.partition.fetch.bytes": "1",  # one batch
                "enable.auto.commit": "false",
                "auto.offset.reset": "none",
            }
            self._consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
        return self._consumer
