"""Producers of two libraries with acks=all, in one shape."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

DELIVERY_MS = 30_000
REQUEST_MS = 5_000
Done = Callable[[int, str], None]
"""Given the offset (-1 if the library does not say) and no error, or an error."""


class Fatal(Exception):
    """The producer is of no use any more."""


class Sending(Protocol):
    """What the role needs. `send` may raise Fatal."""

    def send(self, topic: str, partition: int, value: str, done: Done) -> None: ...
    def serve(self, seconds: float) -> None: ...
    def flush(self) -> None: ...


class Librdkafka:
    """confluent-kafka's Producer; plain with one request at a time, so that order is kept."""

    def __init__(self, bootstrap: str, *, idempotent: bool) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": idempotent,
                "max.in.flight.requests.per.connection": 5 if idempotent else 1,
                "message.timeout.ms": DELIVERY_MS,
                "request.timeout.ms": REQUEST_MS,
                "socket.timeout.ms": REQUEST_MS + 1_000,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 5,
                "log_level": 0,
                "error_cb": self._failed,
            }
        )
        self._fatal = ""

    def _failed(self, error: Any) -> None:
        if error.fatal():
            self._fatal = str(error)

    def send(self, topic: str, partition: int, value: str, done: Done) -> None:
        def delivered(error: Any, message: Any) -> None:
            offset = message.offset()
            done(-1 if offset is None else offset, "" if error is None else str(error))

        if self._fatal:
            raise Fatal(self._fatal)
        self._producer.produce(topic, value.encode(), partition=partition, on_delivery=delivered)

    def serve(self, seconds: float) -> None:
        self._producer.poll(seconds)

    def flush(self) -> None:
        self._producer.flush(DELIVERY_MS / 1000 + 5)


class KafkaPython:
    """kafka-python's KafkaProducer."""

    def __init__(self, bootstrap: str, *, idempotent: bool) -> None:
        from kafka import KafkaProducer

        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap.split(","),
            acks="all",
            enable_idempotence=idempotent,
            max_in_flight_requests_per_connection=5 if idempotent else 1,
            delivery_timeout_ms=DELIVERY_MS,
            request_timeout_ms=REQUEST_MS,
            max_block_ms=DELIVERY_MS,
            reconnect_backoff_max_ms=500,
            linger_ms=5,
        )

    def send(self, topic: str, partition: int, value: str, done: Done) -> None:
        from kafka.errors import KafkaError, KafkaTimeoutError

        try:
            future = self._producer.send(topic, value.encode(), partition=partition)
        except KafkaTimeoutError as error:
            return done(-1, repr(error))
        except KafkaError as error:
            raise Fatal(repr(error)) from None
        future.add_callback(lambda metadata: done(metadata.offset, ""))
        future.add_errback(lambda error: done(-1, repr(error)))

    def serve(self, seconds: float) -> None:
        time.sleep(seconds)

    def flush(self) -> None:
        self._producer.flush(timeout=DELIVERY_MS / 1000 + 5)


PRODUCERS: dict[str, Callable[..., Sending]] = {
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
}
