"""Rows into a partition of the target, every one once, whatever is killed.

Each piece is one transaction, and so is the offset of the row that follows it. A writer first
takes over the partition's transactional id, which ends what an earlier one left open and fences
the earlier one off, and only then asks how far the replay has come. After any trouble it does the
same again with a new producer: one that has given up on something is not trusted any more (some
have written records twice afterwards), and the cluster knows whether a commit arrived.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from barnabas.pipeline.replay.client_errors import error_of, flush, is_fenced, refuse_if_for_good
from barnabas.pipeline.replay.patience import PATIENCE_S, PAUSE_S
from barnabas.pipeline.replay.plan import Part, Plan
from barnabas.pipeline.replay.progress import Progress, forgotten, offset_of
from barnabas.pipeline.replay.rows import Row
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.python_client import Settings

CALL_TIMEOUT_S = 30.0
ABORT_TIMEOUT_S = 5.0
TRANSACTION_TIMEOUT_MS = 60_000


class TakenOver(Exception):
    """Another writer has the partition: this one has nothing to do any more."""


class Reports:
    """What became of the records of one transaction; those of an earlier one do not count."""

    def __init__(self) -> None:
        self.delivered = 0
        self.failed: KafkaError | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.delivered += 1
        elif self.failed is None:
            self.failed = error


class TransactionalWriter:
    """Writes one part of a plan; `next_offset` is that of the first row not yet written."""

    def __init__(
        self, settings: Settings, plan: Plan, part: Part, *, with_timestamps: bool = True
    ) -> None:
        self._plan, self._part = plan, part
        self._with_timestamps = with_timestamps
        self._settings: Settings = {
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            **settings,
            "transactional.id": f"{plan.group}-{part.target}-{part.partition}",
        }
        self._progress = Progress(settings, plan)
        self._producer: Producer | None = None
        self._begun_at: float | None = None  # the last transaction
        self._in_doubt = -1  # what it brings the replay to, if it is committed
        self.next_offset = -1
        self._patiently(self._take_over)

    def left(self, rows: Sequence[Row]) -> int:
        """How many of rows in order are not written yet."""
        return len(self._left_of(rows))

    def write(self, rows: Sequence[Row]) -> int:
        """Write what of the rows is not written yet; the number of them.

        TakenOver when another writer has begun with this part since.
        """
        count = self.left(rows)
        self._patiently(lambda: self._transaction(rows))
        return count

    def finish(self) -> None:
        """All is written already: a transaction ends before `write` returns."""

    def close(self) -> None:
        """Let go of the client."""
        self._producer = None
        self._progress.close()

    # --- one transaction -----------------------------------------------------------------

    def _transaction(self, rows: Sequence[Row]) -> None:
        if self._producer is None:
            self._take_over()
        if not (rows := self._left_of(rows)):
            return
        producer = self._producer
        assert producer is not None
        reports = Reports()
        self._begun_at, self._in_doubt = time.monotonic(), rows[-1].offset + 1
        producer.begin_transaction()
        for row in rows:
            self._produce(producer, row, reports)
        reached = offset_of(self._part, self._in_doubt)
        group = self._progress.group_metadata
        # This call has been seen to ignore the limit that it is given.
        _limited(lambda: producer.send_offsets_to_transaction([reached], group, CALL_TIMEOUT_S))
        flush(producer, CALL_TIMEOUT_S)
        self._require_all_delivered(reports, len(rows))
        producer.commit_transaction(CALL_TIMEOUT_S)
        self.next_offset = self._in_doubt

    def _left_of(self, rows: Sequence[Row]) -> Sequence[Row]:
        if not rows or rows[0].offset >= self.next_offset:
            return rows
        return [row for row in rows if row.offset >= self.next_offset]

    def _produce(self, producer: Producer, row: Row, reports: Reports) -> None:
        stamp = row.timestamp_ms if self._with_timestamps else 0
        part = self._part
        while True:
            try:
                producer.produce(
                    part.target, row.value, row.key, part.partition,
                    on_delivery=reports, timestamp=stamp, headers=row.headers,
                )  # fmt: skip
                return
            except BufferError:
                producer.poll(1)
            if reports.failed is not None:
                raise KafkaException(reports.failed)

    def _require_all_delivered(self, reports: Reports, count: int) -> None:
        if reports.failed is not None:
            raise KafkaException(reports.failed)
        if reports.delivered != count:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    # --- the client ------------------------------------------------------------------------

    def _take_over(self) -> None:
        """Fence whoever wrote this part before, then ask how far they came."""
        producer = Producer(self._settings)
        producer.init_transactions(CALL_TIMEOUT_S)
        (reached,) = self._progress.next_offsets([self._part])
        if reached is None:
            raise forgotten(self._part)
        if self.next_offset >= 0 and reached not in (self.next_offset, self._in_doubt):
            raise TakenOver(self._part.name)
        self.next_offset = reached
        self._producer = producer

    def _patiently(self, step: Callable[[], None]) -> None:
        """Repeat a step with a new producer until it is done, fenced or refused for good."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return step()
            except KafkaException as raised:
                producer, self._producer = self._producer, None
                if is_fenced(raised) and not self._timed_out():
                    raise TakenOver(self._part.name) from raised
                if producer is not None:
                    _abort(producer)
                refuse_if_for_good(raised, f"writing to {self._part.name}")
                if time.monotonic() > deadline:
                    raise PipelineError(
                        f"{self._part.name} has taken no records for {PATIENCE_S:.0f} s: "
                        f"{error_of(raised).str()}; the same command goes on where this one ended"
                    ) from raised
                time.sleep(PAUSE_S)

    def _timed_out(self) -> bool:
        """Whether the coordinator may have ended our transaction itself."""
        if self._begun_at is None:
            return True
        limit_s = float(self._settings["transaction.timeout.ms"]) / 1000
        return time.monotonic() - self._begun_at >= 0.9 * limit_s


def _abort(producer: Producer) -> None:
    """End the transaction of a producer that is given up: readers wait at one that is open."""
    producer.purge(blocking=False)
    with suppress(KafkaException):
        producer.abort_transaction(ABORT_TIMEOUT_S)


def _limited(call: Callable[[], None]) -> None:
    """Call in a thread of its own, which is left to itself when the time is over."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as error:
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(CALL_TIMEOUT_S + PAUSE_S)
    if thread.is_alive():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    if raised:
        raise raised[0]
