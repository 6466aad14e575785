"""Transactional producers of two libraries, in one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from exactly_once.checker.history import Place

TIMEOUT_S = 8.0
REQUEST_MS = 3_000
TRANSACTION_MS = 10_000


class Abortable(Exception):
    """The transaction cannot be committed; it is to be aborted."""


class Fatal(Exception):
    """The producer is of no use any more."""


class Undecided(Exception):
    """It took too long; the same call may be made again."""


class TransactionalProducer(Protocol):
    """What a role needs. All of it raises the three above."""

    def start(self) -> None: ...
    def begin(self) -> None: ...
    def send(self, place: Place, value: str, acked: Callable[[int], None]) -> None: ...
    def send_offsets(self, offsets: Mapping[Place, int], group: Any) -> None: ...
    def flush(self) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...


class Librdkafka:
    """confluent-kafka's Producer."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        from confluent_kafka import Producer

        self._failed: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_MS,
                "message.timeout.ms": TRANSACTION_MS - 2_000,
                "request.timeout.ms": REQUEST_MS,
                "socket.timeout.ms": REQUEST_MS,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 2,
                "log_level": 0,
            }
        )

    def start(self) -> None:
        with _librdkafka_errors():
            self._producer.init_transactions(30)

    def begin(self) -> None:
        self._failed.clear()
        with _librdkafka_errors():
            self._producer.begin_transaction()

    def send(self, place: Place, value: str, acked: Callable[[int], None]) -> None:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()
                acked(-1 if offset is None else offset)
            else:
                self._failed.append(str(error))

        with _librdkafka_errors():
            self._producer.produce(
                place.topic, value.encode(), partition=place.partition, on_delivery=delivered
            )
        self._producer.poll(0)

    def send_offsets(self, offsets: Mapping[Place, int], group: Any) -> None:
        from confluent_kafka import TopicPartition

        with _librdkafka_errors():
            self._producer.send_offsets_to_transaction(
                [TopicPartition(*place, offset) for place, offset in offsets.items()],
                group,
                TIMEOUT_S,
            )

    def flush(self) -> None:
        self._producer.flush(TIMEOUT_S)
        if self._failed:
            raise Abortable(self._failed[0])

    def commit(self) -> None:
        with _librdkafka_errors():
            self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        with _librdkafka_errors():
            self._producer.abort_transaction(TIMEOUT_S)


@contextmanager
def _librdkafka_errors() -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        reason = error.args[0]
        if reason.fatal():
            raise Fatal(str(reason)) from None
        if reason.txn_requires_abort():
            raise Abortable(str(reason)) from None
        if reason.retriable():
            raise Undecided(str(reason)) from None
        raise Fatal(str(reason)) from None
    except BufferError as error:
        raise Abortable(str(error)) from None


class KafkaPython:
    """kafka-python's KafkaProducer. Its commit waits for ever; whoever watches kills it then.

    It may commit though records had expired in the client, so these are looked at first.
    """

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        from kafka import KafkaProducer

        self._sent: list[Any] = []
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=TRANSACTION_MS,
            delivery_timeout_ms=TRANSACTION_MS - 2_000,
            request_timeout_ms=REQUEST_MS,
            max_block_ms=30_000,
            reconnect_backoff_max_ms=500,
            linger_ms=2,
        )

    def start(self) -> None:
        with _kafka_python_errors():
            self._producer.init_transactions()

    def begin(self) -> None:
        self._sent.clear()
        with _kafka_python_errors():
            self._producer.begin_transaction()

    def send(self, place: Place, value: str, acked: Callable[[int], None]) -> None:
        with _kafka_python_errors():
            future = self._producer.send(place.topic, value.encode(), partition=place.partition)
        future.add_callback(lambda metadata: acked(metadata.offset))
        self._sent.append(future)

    def send_offsets(self, offsets: Mapping[Place, int], group: Any) -> None:
        from kafka import OffsetAndMetadata, TopicPartition

        positions = {
            TopicPartition(*place): OffsetAndMetadata(offset, "", -1)
            for place, offset in offsets.items()
        }
        with _kafka_python_errors():
            self._producer.send_offsets_to_transaction(positions, group)

    def flush(self) -> None:
        with _kafka_python_errors():
            for future in self._sent:
                future.get(timeout=TIMEOUT_S + 4)

    def commit(self) -> None:
        with _kafka_python_errors():
            self._producer.commit_transaction()

    def abort(self) -> None:
        with _kafka_python_errors(last=True):
            self._producer.abort_transaction()


@contextmanager
def _kafka_python_errors(*, last: bool = False) -> Iterator[None]:
    from kafka import errors

    fatal = (
        errors.ProducerFencedError,
        errors.IllegalStateError,
        errors.OutOfOrderSequenceNumberError,
    )
    try:
        yield
    except fatal as error:
        raise Fatal(repr(error)) from None
    except errors.KafkaError as error:
        raise (Fatal if last else Abortable)(repr(error)) from None


PRODUCERS: dict[str, Callable[[str, str], TransactionalProducer]] = {
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
}
