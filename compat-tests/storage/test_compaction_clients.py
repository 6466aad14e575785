"""Compaction as real clients see it: every key is there, and the broker is.

The settings make happen in seconds what a busy topic comes to in weeks.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from broker_fixture import running_barnabas
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

DEADLINE_S = 60
RUN_S = 8
SETTINGS = ("log.cleaner.backoff.ms=50", "log.cleaner.threads=2")
BUSY = (*SETTINGS, "log.retention.check.interval.ms=100", "log.initial.task.delay.ms=100")


def create_topics(address: str, names: list[str], config: dict[str, str]) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": address})
    topics = [NewTopic(name, 1, 1, config=config) for name in names]
    for created in admin.create_topics(topics).values():
        created.result()
    return admin


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def read_all(address: str, topic: str) -> Iterator[Message]:
    """Every record of partition 0, with a consumer's usual settings."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader"})
    try:
        partition = TopicPartition(topic, 0, OFFSET_BEGINNING)
        end = consumer.get_watermark_offsets(partition)[1]
        consumer.assign([partition])
        deadline = time.monotonic() + DEADLINE_S
        offset = -1
        while offset < end - 1:
            assert time.monotonic() < deadline, f"at {offset} of {end}"
            message = consumer.poll(1)
            if message is not None:
                if message.error():
                    raise KafkaException(message.error())
                offset = message.offset()
                yield message
    finally:
        consumer.close()


def closed_segments(directory: Path) -> int:
    return len(list(directory.glob("*.log"))) - 1


def test_every_key_of_forty_segments_is_there_after_a_compaction(tmp_path: Path) -> None:
    """Flow: 41 segments by timestamps far apart, 100 keys in each and every key once; the cleaner
    makes one of them; a consumer reads it."""
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "50000000",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
    }
    random = Random(1)
    with running_barnabas(tmp_path, *SETTINGS) as address:
        create_topics(address, ["keys"], config)
        directory = next(tmp_path.rglob("keys-0"))
        producer = Producer({"bootstrap.servers": address, "linger.ms": 50})
        start_ms = int(time.time() * 1000) - 41 * 1000
        sent = {}
        for number in range(4_100):
            key, value = b"%d" % number, random.randbytes(900)
            sent[key] = value
            producer.produce("keys", value, key, timestamp=start_ms + 1000 * (number // 100))
            if number % 100 == 99:
                assert producer.flush(DEADLINE_S) == 0
        wait_until(lambda: closed_segments(directory) <= 3)
        found = {message.key(): message.value() for message in read_all(address, "keys")}
        assert found == sent


@pytest.mark.parametrize("deletes_records", [True, False], ids=["DeleteRecords", "retention alone"])
def test_retention_and_deleted_records_beside_compactions_leave_the_broker_alone(
    deletes_records: bool, tmp_path: Path
) -> None:
    """Flow: 12,000 records a second on six topics that are compacted and retained for a second;
    records are deleted five times a second; the broker answers to the end and has no complaint."""
    config = {
        "cleanup.policy": "compact,delete",
        "segment.bytes": "60000",
        "retention.ms": "1000",
        "min.cleanable.dirty.ratio": "0.01",
        "file.delete.delay.ms": "0",
    }
    topics = [f"busy-{number}" for number in range(6)]
    with running_barnabas(tmp_path, *BUSY) as address:
        admin = create_topics(address, topics, config)
        deleting = _Deleting(admin, topics)
        if deletes_records:
            deleting.start()
        try:
            refused = produce_for(address, topics, RUN_S)
        finally:
            deleting.stop()
        assert refused == []
        assert set(topics) <= set(admin.list_topics(timeout=10).topics)
    said = (tmp_path / "stderr").read_text()
    assert not re.search(r"ERROR|Traceback|offline", said), said[-3000:]


def produce_for(address: str, topics: list[str], seconds: float) -> list[str]:
    """Produce about 12,000 records a second: the errors of those that were not taken."""
    refused: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": address,
            "linger.ms": 5,
            "batch.size": 16_384,  # a million by default: no batch of a small segment
            "message.timeout.ms": 30_000,
        }
    )

    def delivered(error: object, message: Message) -> None:
        if error is not None:
            refused.append(str(error))

    begin = time.monotonic()
    number = 0
    while (passed_s := time.monotonic() - begin) < seconds and not refused:
        with suppress(BufferError):  # as fast as a busy machine can
            while number < passed_s * 12_000:
                key = b"%d" % (number % 5_003)
                producer.produce(topics[number % 6], bytes(200), key, on_delivery=delivered)
                number += 1
        producer.poll(0.01)
    assert producer.flush(DEADLINE_S) == 0
    return refused


class _Deleting(threading.Thread):
    """Deletes the records below each topic's end, five times a second."""

    def __init__(self, admin: AdminClient, topics: list[str]) -> None:
        super().__init__(daemon=True)
        self._admin, self._topics = admin, topics
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.2):
            asked = self._admin.delete_records([TopicPartition(t, 0, -1) for t in self._topics])
            for answer in asked.values():
                with suppress(KafkaException):
                    answer.result(5)

    def stop(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join()
