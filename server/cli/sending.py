"""Records through kafka-python's producer: what was acknowledged, and for how long nothing was.

A record that the broker refuses ends it. While a broker is away it is said, and what is
unacknowledged waits; nothing at all for the time of --timeout ends it as well. What waits is
bounded: reading goes on when acknowledgements come.
"""

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.server.cli.client_settings import PRODUCER, made, manager_of
from barnabas.server.cli.connection import problem, text_of
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.input_records import Header, Record
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.liveness import Watch, looking
from barnabas.server.cli.output import counted, note
from barnabas.server.cli.progress import Progress

ENDED = signal.SIGUSR1  # not SIGINT, which a shell ignores for what runs behind it
MOST_WAITING_BYTES = 64 * 1024 * 1024
QUIET_S = 1.5
LOOK_S = 0.1
# Answers that refuse nothing: it goes on elsewhere, or is not done yet.
NO_REFUSALS = ("RequestTimedOutError", "NotLeaderForPartitionError", "LeaderNotAvailableError",
               "UnknownTopicOrPartitionError")  # fmt: skip
LAST_WORDS_S = 2.0  # what is on its way at Ctrl-C may still be acknowledged


class Complaints(logging.Handler):
    """The last thing that a broker answered instead of taking records, which are sent again.

    kafka-python tells that in its log alone.
    """

    WORDS = "Got error produce response"

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what it says, in the broker's words or Kafka's for the error.

        Of a connection that has ended nothing: no broker said it. This must not fail, for it runs
        in the midst of what sends the records again.
        """
        if self.WORDS in record.msg and isinstance(record.args, tuple) and len(record.args) == 5:
            name, words = (str(each) for each in record.args[3:])
            code = getattr(getattr(kafka("errors"), name, None), "errno", None)
            if code is not None and name not in NO_REFUSALS:
                self.last = problem(code, words.removeprefix(". Error Message: "))

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Listen while the body runs."""
        logger = logging.getLogger("kafka.producer.sender")
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)


class Target(NamedTuple):
    """Where records go that do not say it themselves, and what they all carry."""

    topic: str
    partition: int | None
    headers: list[Header]


class Sending:
    """One run of records through a producer."""

    def __init__(self, settings: dict[str, Any], target: Target, timeout_s: float) -> None:
        self._settings, self._target, self._timeout_s = settings, target, timeout_s
        self._sent = self._sent_bytes = 0
        self._acknowledged = 0
        self._started_s = self._moved_s = time.monotonic()
        self._refused: list[BaseException] = []
        self._has_moved = threading.Condition()
        self._is_quiet = self._is_done = False
        self._thread_id = threading.get_ident()
        signal.signal(ENDED, signal.default_int_handler)
        self._complaints = Complaints()

    def send_all(self, records: Iterator[Record], progress: Progress) -> None:
        """Send every record and wait until all are acknowledged."""
        producer = made(PRODUCER, self._settings)
        watch = Watch(manager_of(producer))
        try:
            with self._complaints.heard(), looking(lambda: self._look(watch)):
                try:
                    self._send(producer, records, progress)
                finally:
                    self._is_done = True
        except BadInput as error:
            self._wait_a_moment()
            sent = f"; before it {self._so_far()}" if self._sent else ""
            raise BadInput(error.message + sent) from error
        except KeyboardInterrupt:
            self._check()  # it may be what `_look` woke this thread with
            self._wait_a_moment()
            note(f"barnabas: {self._so_far()}")
            raise
        finally:
            _end(producer)

    def summary(self) -> dict[str, Any]:
        """What was acknowledged."""
        elapsed_s = self._moved_s - self._started_s
        return {
            "topic": self._target.topic,
            "records": self._acknowledged,
            "bytes": self._sent_bytes - self._waiting_bytes(),
            "seconds": round(elapsed_s, 3),
            "records_per_second": round(self._acknowledged / elapsed_s) if elapsed_s else 0,
        }

    def _send(self, producer: Any, records: Iterator[Record], progress: Progress) -> None:
        append, target = _append, self._target
        for record in records:
            if self._sent == self._acknowledged:
                self._moved_s = time.monotonic()  # nothing was waiting until now
            size = len(record.value or b"") + len(record.key or b"")
            self._sent, self._sent_bytes = self._sent + 1, self._sent_bytes + size
            try:
                future = append(producer, target, record, self._sent)
            except BadInput:  # it was not sent: nobody is to wait for it, or to count it
                self._sent, self._sent_bytes = self._sent - 1, self._sent_bytes - size
                raise
            future._add_cb_eb(self._take_acknowledgement, self._take_refusal)
            progress.advance()
            if self._refused:
                break
            if self._waiting_bytes() > MOST_WAITING_BYTES:
                self._wait_until_under(MOST_WAITING_BYTES)
        producer._accumulator.begin_flush()  # no lingering any more
        producer._sender.wakeup()
        self._wait_until_under(0)

    def _waiting_bytes(self) -> int:
        """What waits for acknowledgement, by the mean size of all."""
        waiting = self._sent - self._acknowledged
        return self._sent_bytes * waiting // self._sent if waiting else 0

    def _take_acknowledgement(self, _: object) -> None:
        self._acknowledged += 1
        self._moved_s = time.monotonic()
        self._complaints.last = ""
        if self._acknowledged == self._sent:
            with self._has_moved:
                self._has_moved.notify_all()

    def _take_refusal(self, error: BaseException) -> None:
        self._refused.append(error)
        with self._has_moved:
            self._has_moved.notify_all()

    def _wait_until_under(self, most_bytes: int) -> None:
        """Until at most so many bytes wait; 0 stands for no record at all."""
        while not self._refused and (
            self._waiting_bytes() > most_bytes if most_bytes else self._sent > self._acknowledged
        ):
            self._check()
            with self._has_moved:
                self._has_moved.wait(LOOK_S)
        self._check()

    def _check(self) -> None:
        """Failure when a record was refused, or nothing was acknowledged for too long."""
        if not self._refused:
            if self._is_late():
                late = f"no acknowledgement for {self._timeout_s:g} s (--timeout)"
                raise self._refusal(late) if self._complaints.last else self._failure(late)
            return
        error = self._refused[0]
        is_said = isinstance(error, kafka("errors").BrokerResponseError)
        if is_said and type(error).__name__ not in NO_REFUSALS:
            self._complaints.last = text_of(error)
        elif not self._complaints.last:
            raise self._failure(f"{self._target.topic}: not acknowledged: {text_of(error)}")
        self._wait_a_moment()
        raise self._refusal()

    def _refusal(self, more: str = "") -> Failure:
        reason = f"{self._complaints.last}; {more}" if more else self._complaints.last
        return self._failure(f"the broker refused a record for {self._target.topic}: {reason}")

    def _failure(self, text: str) -> Failure:
        return Failure(f"{text}; {self._so_far()}")

    def _is_late(self) -> bool:
        return self._sent > self._acknowledged and self._quiet_for_s() > self._timeout_s

    def _wait_a_moment(self) -> None:
        with contextlib.suppress(KeyboardInterrupt), self._has_moved:
            self._has_moved.wait_for(
                lambda: self._acknowledged + len(self._refused) >= self._sent, LAST_WORDS_S
            )

    def _quiet_for_s(self) -> float:
        return time.monotonic() - self._moved_s

    def _look(self, watch: Watch) -> None:
        """Once records wait and nothing comes: say whose fault it is."""
        if self._is_done:
            return
        was_cut_off = watch.is_cut_off
        watch.look()
        is_excused = was_cut_off or watch.is_cut_off
        is_quiet = self._sent > self._acknowledged and self._quiet_for_s() > QUIET_S
        if is_quiet and not self._is_quiet and not is_excused:
            waiting = counted(self._sent - self._acknowledged, "record")
            why = f": {self._complaints.last}" if self._complaints.last else ""
            until = f"waiting up to {self._timeout_s:g} s"
            note(f"no acknowledgement yet of {waiting}{why}; {until}")
        self._is_quiet = is_quiet
        if self._refused or self._is_late():  # the input may be a pipe that nothing comes from
            signal.pthread_kill(self._thread_id, ENDED)

    def _so_far(self) -> str:
        return f"{self._acknowledged:,} of {counted(self._sent, 'record')} acknowledged"


def _append(producer: Any, target: Target, record: Record, number: int) -> Any:
    """Hand one record to the producer; the future of its acknowledgement."""
    topic = target.topic
    headers = record.headers + target.headers if record.headers else target.headers
    partition = target.partition if record.partition is None else record.partition
    key, value = record.key, record.value
    try:
        if (key is None and value is None) or (headers and _has_null(headers)):
            return _append_nulls(producer, target._replace(partition=partition), record, headers)
        return producer.send(topic, value, key, headers, partition, record.timestamp_ms)
    except kafka("errors").MessageSizeTooLargeError as error:
        raise BadInput(
            f"record {number}: larger than max.request.size"
            f" ({producer.config['max_request_size']:,}); --client max.request.size=N raises it"
        ) from error
    except ValueError as error:
        raise BadInput(f"record {number}: {str(error).lower()}") from error


def _has_null(headers: list[Header]) -> bool:
    return any(text is None for _, text in headers)


def _append_nulls(producer: Any, target: Target, record: Record, headers: list[Header]) -> Any:
    """What `KafkaProducer.send` does, for what it refuses: null headers, records of nulls alone."""
    key, value = record.key, record.value
    # It adds up header sizes for the metadata that it hands back, and stumbles over null there.
    kafka("producer.producer_batch").len = _length
    producer.partitions_for(target.topic)
    number = producer._partition(target.topic, target.partition, key, value, key, value)
    place = kafka().TopicPartition(target.topic, number)
    future, is_full, is_new, _ = producer._accumulator.append(
        place, record.timestamp_ms, key, value, headers
    )
    if is_full or is_new:
        producer._sender.wakeup()
    return future


def _length(of: Any) -> int:
    return 0 if of is None else len(of)


def _end(producer: Any) -> None:
    """Stop at once: whatever can be waited for has been."""
    producer._unregister_cleanup()
    producer._sender.force_close()
    producer._sender.join(LAST_WORDS_S)
    producer._closed = True
