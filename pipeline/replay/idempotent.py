"""Rows into a partition of the target without transactions: once each if nobody else writes.

How far the replay has come is where the target ends: a record takes one offset, and they are
written in order. That holds over a kill of the writer or of the broker. What it does not prevent,
a writer that was thought dead and still sends, or somebody else's records, it notices: every
acknowledged record has to have the offset that it is expected at.
"""

from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from barnabas.pipeline.replay.client_errors import error_of, flush, refuse_if_for_good
from barnabas.pipeline.replay.patience import PATIENCE_S, patiently
from barnabas.pipeline.replay.plan import Part, Plan
from barnabas.pipeline.replay.progress import Progress
from barnabas.pipeline.replay.rows import Row
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.python_client import Settings


class IdempotentWriter:
    """Writes one part of a plan, from the row on that the target ends before."""

    def __init__(
        self, settings: Settings, plan: Plan, part: Part, *, with_timestamps: bool = True
    ) -> None:
        self._part = part
        self._with_timestamps = with_timestamps
        progress = Progress(settings, plan)
        end = patiently(lambda: progress.end_of(part), f"looking at {part.name}")
        progress.close()
        if end < part.base:
            raise PipelineError(
                f"{part.name} ends at {end}, before the replay began at {part.base}"
            )
        self._to_skip = end - part.base
        self._expected = end
        self._failed: KafkaError | None = None
        self._strange: int | None = None
        ours: Settings = {
            "enable.idempotence": True,
            "enable.gapless.guarantee": True,
            "delivery.timeout.ms": int(PATIENCE_S * 1000),
        }
        self._producer = Producer(ours | settings)

    def left(self, rows: Sequence[Row]) -> int:
        """How many of the next rows are not there already."""
        return max(0, len(rows) - self._to_skip)

    def write(self, rows: Sequence[Row]) -> int:
        """Send what of the rows is not there already; the number of them."""
        left = rows[self._to_skip :]
        self._to_skip -= len(rows) - len(left)
        for row in left:
            self._produce(row)
        self._producer.poll(0)
        self._check()
        return len(left)

    def finish(self) -> None:
        """Wait until everything that was sent is acknowledged."""
        left = self._flushed()
        self._check()
        if left:
            raise PipelineError(f"{self._part.name} has not acknowledged {left} records in time")

    def _flushed(self) -> int:
        try:
            return flush(self._producer, PATIENCE_S)
        except KafkaException as raised:
            self._failed = self._failed or error_of(raised)
            return 0

    def close(self) -> None:
        """Send nothing more."""
        self._producer.purge()

    def _produce(self, row: Row) -> None:
        stamp = row.timestamp_ms if self._with_timestamps else 0
        part = self._part
        while True:
            try:
                self._producer.produce(
                    part.target, row.value, row.key, part.partition,
                    on_delivery=self._on_delivery, timestamp=stamp, headers=row.headers,
                )  # fmt: skip
                return
            except BufferError:
                self._producer.poll(1)
            self._check()

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed = self._failed or error
            return
        if message.offset() != self._expected and self._strange is None:
            self._strange = message.offset()
        self._expected += 1

    def _check(self) -> None:
        if self._failed is not None:
            raised = KafkaException(self._failed)
            refuse_if_for_good(raised, f"writing to {self._part.name}")
            raise PipelineError(f"writing to {self._part.name}: {error_of(raised).str()}")
        if self._strange is not None:
            raise PipelineError(
                f"somebody else writes to {self._part.name}: offset {self._strange} was given "
                f"where another was due; replay with --exactly-once beside other writers"
            )
