"""The batches of a partition as they lie in its log: what Spark's source does not show.

A marker, or a record that compaction has removed, is an offset that simply does not come. The
headers of the batches around it say why. They come from a broker by Fetch (kafka-python), or from
segment files; both are used by Spark's executors, one object for each task.
"""

from __future__ import annotations

import logging
import time
import warnings
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol
from uuid import UUID

from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.pipeline.spark.python_client import python_client_settings
from barnabas.storage.batch.header import BatchHeader, walk

FIRST_FETCH_BYTES = 16 << 10
LARGEST_FETCH_BYTES = 1 << 20
PATIENCE_S = 30.0
RETRY_S = 0.2
OFFSET_OUT_OF_RANGE = 1
PASSING_ERRORS = frozenset({3, 5, 6, 9, 74, 75, 76, 100, 103})  # leaders and ids on the move


class UnreadableLog(Exception):
    """The batches cannot be looked at; the message says why."""


class RawLog(Protocol):
    """The batches of partitions, in order of their offsets."""

    def headers(
        self, topic: str, topic_id: str, partition: int, offset: int
    ) -> Iterator[BatchHeader]:
        """Headers from the batch that holds `offset`, or is the next one, to the end of the log.

        Raises UnreadableLog. Batches below the log start may be left out.
        """

    def close(self) -> None: ...


# librdkafka's words for who a client is -> kafka-python's; what else is set does not matter here
_RENAMED = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}
_STRANGE = ("ssl.keystore.location", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem")


def client_settings(cluster: KafkaCluster) -> dict[str, Any]:
    """kafka-python's settings for a cluster; UnreadableLog where it has none for them."""
    try:
        known = python_client_settings(cluster)
    except PipelineError as error:
        raise UnreadableLog(error.message) from error
    if strange := [name for name in _STRANGE if name in known]:
        raise UnreadableLog(f"kafka-python, which reads the batches, takes no {strange[0]}")
    found: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap_servers.split(","),
        "client_id": "barnabas-audit",
    }
    found |= {ours: known[theirs] for theirs, ours in _RENAMED.items() if theirs in known}
    if known.get("ssl.endpoint.identification.algorithm") == "none":
        found["ssl_check_hostname"] = False
    return found


def kafka_python(module: str = "") -> Any:
    """kafka-python or a module of it, which says nothing to the standard error."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    with warnings.catch_warnings():  # it reads its schemas in a way that Python has deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(f"kafka.{module}" if module else "kafka")


class BrokerLog:
    """The batches that a cluster hands out."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        try:
            self._admin = kafka_python().KafkaAdminClient(**settings)
        except kafka_python("errors").KafkaError as error:
            raise UnreadableLog(str(error)) from error
        self._leaders: dict[tuple[str, int], int] = {}

    def headers(
        self, topic: str, topic_id: str, partition: int, offset: int
    ) -> Iterator[BatchHeader]:
        wanted = FIRST_FETCH_BYTES
        while records := self._fetch(topic, topic_id, partition, offset, wanted):
            for header in walk(records, partial_tail=True):
                if header.next_offset > offset:
                    yield header
                    offset = header.next_offset
            # Whoever asks for more reads on: the next bytes are worth having in larger pieces.
            wanted = min(2 * wanted, LARGEST_FETCH_BYTES)

    def _fetch(self, topic: str, topic_id: str, partition: int, offset: int, size: int) -> bytes:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            error, records = self._ask(topic, topic_id, partition, offset, size)
            if error == OFFSET_OUT_OF_RANGE:
                return b""
            if not error:
                return records
            if error not in PASSING_ERRORS or time.monotonic() > deadline:
                kind = kafka_python("errors").for_code(error).__name__
                raise UnreadableLog(f"{topic}-{partition} at offset {offset}: {kind}")
            self._leaders.clear()
            time.sleep(RETRY_S)

    def _ask(
        self, topic: str, topic_id: str, partition: int, offset: int, size: int
    ) -> tuple[int, bytes]:
        kind = kafka_python("protocol.consumer").FetchRequest
        wanted = kind.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=offset,
            log_start_offset=-1,
            partition_max_bytes=size,
        )
        padded = topic_id + "=" * (-len(topic_id) % 4)
        of_topic = kind.FetchTopic(
            topic=topic,
            topic_id=UUID(bytes=urlsafe_b64decode(padded) or bytes(16)),
            partitions=[wanted],
        )
        request = kind(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=size,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[of_topic],
            forgotten_topics_data=[],
            rack_id="",
        )
        try:
            leader = self._leader_of(topic, partition)
            answer = self._admin._manager.run(self._admin._manager.send, request, leader)
        except kafka_python("errors").KafkaError as error:
            raise UnreadableLog(f"{topic}-{partition} at offset {offset}: {error}") from error
        if answer.error_code or not answer.responses:
            return answer.error_code or 3, b""
        found = answer.responses[0].partitions[0]
        return found.error_code, bytes(found.records or b"")

    def _leader_of(self, topic: str, partition: int) -> int:
        if (topic, partition) not in self._leaders:
            for described in self._admin.describe_topics([topic]):
                for each in described["partitions"]:
                    self._leaders[topic, each["partition_index"]] = each["leader_id"]
        return self._leaders.get((topic, partition), -1)

    def close(self) -> None:
        self._admin.close()
