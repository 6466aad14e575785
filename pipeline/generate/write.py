"""What a Spark task does to write its partitions of the topic.

A task makes every block and keeps the events of its own partitions, so a partition is written by
one task, in the order of arrival, whatever the number of tasks. Spark's own sink is not used: it
has no column for a record's timestamp.

A task that Spark repeats goes on where its partitions end, since what belongs there does not
depend on who writes it. Nobody else may write to the topic meanwhile.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import numpy as np

from barnabas.pipeline.generate.events import Events, events_of
from barnabas.pipeline.generate.numbers import Integers
from barnabas.pipeline.generate.partitions import partitions_of
from barnabas.pipeline.generate.plan import Plan
from barnabas.pipeline.generate.texts import Text, texts
from barnabas.pipeline.spark.failures import PipelineError

FLUSH_TIMEOUT_S: Final = 120.0
ASK_TIMEOUT_S: Final = 30.0
ASK_PATIENCE_S: Final = 120.0
ASK_PAUSE_S: Final = 0.2
PACES_A_SECOND: Final = 20
SUMMARY: Final = "partition int, events long, skipped long, start_offset long, end_offset long"


@dataclass(frozen=True)
class Target:
    """Where the stream goes; `bases` are the ends of the partitions before its first record."""

    topic: str
    bases: tuple[int, ...]
    settings: dict[str, Any] = field(repr=False)
    per_second: float | None = None
    begun_at: float = 0.0  # seconds since 1970: what a rate counts from

    @property
    def partition_count(self) -> int:
        return len(self.bases)


def share(plan: Plan, target: Target, tasks: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For mapInArrow over the numbers of the tasks: write, and give a row of SUMMARY per partition.

    Task t of n has the partitions t, t + n, t + 2n, …
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        arrow = import_module("pyarrow")
        for batch in batches:
            for number in batch.column(0).to_pylist():
                own = range(number, target.partition_count, tasks)
                rows = Writing(plan, target, own).run()
                columns = [np.array(column) for column in zip(*rows, strict=True)]
                columns[0] = columns[0].astype(np.int32)
                names = [part.split()[0] for part in SUMMARY.split(", ")]
                yield arrow.RecordBatch.from_arrays([arrow.array(c) for c in columns], names=names)

    return run


class Writing:
    """One task's way through the stream."""

    def __init__(self, plan: Plan, target: Target, own: Sequence[int]) -> None:
        self._plan, self._target, self._own = plan, target, own
        self._failure = ""
        self._counts = dict.fromkeys(own, 0)
        self._left_to_skip = self._already_written()
        self._skipped = dict(self._left_to_skip)
        self._producer = self._new_producer()
        self._paced_at = 0

    def run(self) -> list[tuple[int, ...]]:
        """Write everything; a row of SUMMARY for each partition."""
        is_own = np.zeros(self._target.partition_count, dtype=np.bool_)
        is_own[list(self._own)] = True
        for block in self._plan.blocks:
            events = events_of(self._plan, block, lambda v: is_own[self._partitions(v)])
            self._write(events)
        self._finish()
        return [self._summary(partition) for partition in self._own]

    def _write(self, events: Events) -> None:
        produce, topic = self._producer.produce, self._target.topic
        partitions = self._partitions(events.visitor).tolist()
        rows = zip(texts(events), partitions, events.position.tolist(), strict=True)
        for text, partition, position in rows:
            self._counts[partition] += 1
            if self._left_to_skip[partition]:
                self._left_to_skip[partition] -= 1
                continue
            if self._target.per_second is not None and position >= self._paced_at:
                self._wait_for(position, self._target.per_second)
            try:
                produce(topic, text.value, text.key, partition, timestamp=text.timestamp_ms)
            except BufferError:
                self._produce_patiently(text, partition)
        self._check(self._producer.poll(0))

    def _produce_patiently(self, text: Text, partition: int) -> None:
        """The queue is full: wait for room in it."""
        is_queued = False
        while not is_queued:
            self._check(self._producer.poll(0.1))
            with suppress(BufferError):
                self._producer.produce(
                    self._target.topic, text.value, text.key, partition,
                    timestamp=text.timestamp_ms,
                )  # fmt: skip
                is_queued = True

    def _wait_for(self, position: int, per_second: float) -> None:
        """Return when the record at this position of the whole stream is due."""
        due = self._target.begun_at + position / per_second
        while (left := due - time.time()) > 0:
            self._check(self._producer.poll(min(left, 0.5)))
        self._paced_at = position + max(1, int(per_second / PACES_A_SECOND))

    def _finish(self) -> None:
        left = self._producer.flush(FLUSH_TIMEOUT_S)
        self._check()
        if left:
            raise PipelineError(f"{left} records were not acknowledged in {FLUSH_TIMEOUT_S:.0f} s")
        ends = log_ends(self._target.settings, self._target.topic, self._own)
        for partition, count in self._counts.items():
            if ends[partition] != self._target.bases[partition] + count:
                raise PipelineError(
                    f"{self._target.topic}-{partition} ends at {ends[partition]} where "
                    f"{self._target.bases[partition] + count} was to be: somebody else writes there"
                )

    def _check(self, _: object = None) -> None:
        if self._failure:
            raise PipelineError(f"the topic {self._target.topic} takes no records: {self._failure}")

    def _partitions(self, visitors: Integers) -> Integers:
        return partitions_of(visitors, self._target.partition_count)

    def _summary(self, partition: int) -> tuple[int, ...]:
        base, count = self._target.bases[partition], self._counts[partition]
        return partition, count, self._skipped[partition], base, base + count

    def _new_producer(self) -> Any:
        kafka = import_module("confluent_kafka")
        return kafka.Producer(
            {
                "compression.type": "lz4",
                "linger.ms": 20 if self._target.per_second else 100,
                "batch.size": 500_000,
                "queue.buffering.max.kbytes": 65_536,
                "queue.buffering.max.messages": 500_000,
                **self._target.settings,
                "enable.idempotence": True,
                "delivery.report.only.error": True,
                "on_delivery": self._on_failed,
            }
        )

    def _on_failed(self, error: Any, _: Any) -> None:
        if error is not None and not self._failure:
            self._failure = str(error.str())

    def _already_written(self) -> dict[int, int]:
        """By partition, the records there that an earlier attempt of this task has written."""
        ends = log_ends(self._target.settings, self._target.topic, self._own)
        return {part: ends[part] - self._target.bases[part] for part in self._own}


def log_ends(settings: dict[str, Any], topic: str, partitions: Sequence[int]) -> dict[int, int]:
    """Where the partitions end now; of a broker that is away it is asked again for a while."""
    kafka = import_module("confluent_kafka")
    group = {"group.id": "barnabas-generate", "enable.auto.commit": False}
    consumer = kafka.Consumer({**settings, **group})
    deadline = time.monotonic() + ASK_PATIENCE_S
    try:
        return {
            part: _end_of(consumer, kafka.TopicPartition(topic, part), deadline)
            for part in partitions
        }
    finally:
        consumer.close()


def _end_of(consumer: Any, partition: Any, deadline: float) -> int:
    kafka = import_module("confluent_kafka")
    while True:
        try:
            _, end = consumer.get_watermark_offsets(partition, timeout=ASK_TIMEOUT_S)
            return int(end)
        except kafka.KafkaException as raised:
            error = raised.args[0]
            is_away = error.retriable() or error.code() in (
                kafka.KafkaError._TRANSPORT,
                kafka.KafkaError._ALL_BROKERS_DOWN,
                kafka.KafkaError._TIMED_OUT,
            )
            if not is_away or time.monotonic() > deadline:
                raise PipelineError(
                    f"the topic {partition.topic} does not say where it ends: {error.str()}"
                ) from raised
            time.sleep(ASK_PAUSE_S)
