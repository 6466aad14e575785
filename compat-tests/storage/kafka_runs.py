"""One run of Apache Kafka for all tests of our files against it: it is started twice.

First it makes the topics and takes the `same_appends`; then it is stopped, our directories are
put in the place of its own, and it serves them, takes more appends, and writes to our logs.
The tests look at what was seen and at the files that are left.
"""

import shutil
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    Message,
    Producer,
)
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka_server import ApacheKafka
from our_logs import TOPICS, Contents, write_data_directory
from partition_writer import NOW_MS
from same_appends import PHASES, TRANSACTIONS, Append, again_topics, appends, same_topics

from barnabas.storage.batch.records import Record
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import NAME as PARTITION_METADATA
from barnabas.storage.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL
from barnabas.wire.connection import ClientConnection
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

PATIENCE_SECONDS = 30.0
NOT_LED_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
ISOLATIONS = ("read_uncommitted", "read_committed")
TIMES_MS = (NOW_MS - 1, NOW_MS + 4, NOW_MS + 12, NOW_MS + 60)
LAST_KEY = b"appended-by-kafka"


class KafkaRun:
    """What came of it."""

    def __init__(self, version: str, folder: Path) -> None:
        self.version = version
        self.ours = folder / "ours"
        self.contents: Contents = write_data_directory(self.ours)
        self.read: dict[str, dict[TopicPartition, list[Record]]] = {}
        """By isolation level, what a consumer got of each partition."""
        self.watermarks: dict[TopicPartition, tuple[int, int]] = {}
        self.offsets_by_time: dict[TopicPartition, dict[int, int]] = {}
        self.appended: dict[TopicPartition, int] = {}
        """Offset of the record that Kafka appended to each of our logs."""
        self.sent: list[list[Append]] = []
        self.phases = [folder / f"phase-{number}" for number in range(PHASES)]
        """Copies of the data directory after each clean stop."""
        kafka = ApacheKafka(version, folder / "kafka")
        try:
            self._run(kafka)
        finally:
            kafka.close()

    def _run(self, kafka: ApacheKafka) -> None:
        kafka.start()
        self._create_topics(kafka.address)
        self._make_appends(kafka)
        self._stop(kafka, self.phases[0])
        self._put_ours_in_place(kafka.data)
        kafka.start()
        self._read_ours(kafka.address)
        self._make_appends(kafka)
        self._append_to_ours(kafka.address)
        self._stop(kafka, self.phases[1])

    def _stop(self, kafka: ApacheKafka, copy: Path) -> None:
        kafka.stop()
        assert (kafka.data / ".kafka_cleanshutdown").exists()
        shutil.copytree(kafka.data, copy)

    def _create_topics(self, address: str) -> None:
        settings = {topic: (1, each) for topic, each in same_topics(self.version).items()}
        settings |= {topic: (1, each) for topic, each in again_topics().items()}
        settings |= {topic: (count, {}) for topic, (count, _) in TOPICS.items()}
        admin = AdminClient({"bootstrap.servers": address})
        topics = [NewTopic(name, count, 1, config=each) for name, (count, each) in settings.items()]
        for made in admin.create_topics(topics).values():
            made.result(PATIENCE_SECONDS)

    # --- the same appends --------------------------------------------------------------

    def _make_appends(self, kafka: ApacheKafka) -> None:
        sent = list(appends(self.version, len(self.sent)))
        self.sent.append(sent)
        with socket.create_connection(("127.0.0.1", kafka.port), PATIENCE_SECONDS) as connection:
            wire = ClientConnection("same-appends")
            for append in sent:
                _produce(connection, wire, append)
        _run_transactions(kafka.address, len(self.sent))

    # --- our directories ---------------------------------------------------------------

    def _put_ours_in_place(self, data: Path) -> None:
        """Our files under that cluster's topic ids; log starts stand in a checkpoint."""
        for partition in self.contents:
            theirs = data / str(partition)
            topic_id = read_topic_id(REAL, str(theirs))
            assert topic_id is not None
            shutil.rmtree(theirs)
            shutil.copytree(self.ours / str(partition), theirs)
            assert not (theirs / PARTITION_METADATA).exists()
            write_topic_id(REAL, str(theirs), topic_id)
        for name in (checkpoints.LOG_START, checkpoints.RECOVERY_POINT, checkpoints.REPLICATION):
            offsets = checkpoints.read_offsets(REAL, str(data / name))
            offsets |= checkpoints.read_offsets(REAL, str(self.ours / name))
            checkpoints.write_offsets(REAL, str(data / name), offsets)

    def _read_ours(self, address: str) -> None:
        for isolation in ISOLATIONS:
            consumer = _consumer(address, isolation)
            self.read[isolation] = consume(consumer, self.contents)
            consumer.close()
        consumer = _consumer(address, ISOLATIONS[0])
        self._ask_for_offsets(consumer)
        consumer.close()

    def _ask_for_offsets(self, consumer: Consumer) -> None:
        for partition in self.contents:
            self.watermarks[partition] = consumer.get_watermark_offsets(
                Place(*partition), PATIENCE_SECONDS
            )
        for time_ms in TIMES_MS:
            asked = [Place(*partition, time_ms) for partition in self.contents]
            for place in consumer.offsets_for_times(asked, PATIENCE_SECONDS):
                assert place.error is None
                partition = TopicPartition(place.topic, place.partition)
                self.offsets_by_time.setdefault(partition, {})[time_ms] = place.offset

    def _append_to_ours(self, address: str) -> None:
        producer = Producer({"bootstrap.servers": address, "acks": "all", "linger.ms": 0})

        def done(error: KafkaError | None, message: Message) -> None:
            assert error is None
            partition = TopicPartition(str(message.topic()), message.partition() or 0)
            self.appended[partition] = message.offset() or 0

        for topic, number in self.contents:
            producer.produce(topic, b"value", LAST_KEY, number, on_delivery=done)
        assert producer.flush(PATIENCE_SECONDS) == 0


def _produce(connection: socket.socket, wire: ClientConnection, append: Append) -> None:
    """Send one set of batches as they are; fails unless they are taken.

    A partition that was just made may not be led yet.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (error_code := _answer(connection, wire, append)) in NOT_LED_YET:
        assert time.monotonic() < deadline, append.topic
        time.sleep(0.05)
    assert error_code == 0, (append.topic, error_code)


def _answer(connection: socket.socket, wire: ClientConnection, append: Append) -> int:
    partition = PartitionProduceData(index=0, records=memoryview(append.data))
    topic = TopicProduceData(name=append.topic, partitions=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=20_000, topics=[topic])
    connection.sendall(wire.send(request, append.version))
    while (found := wire.next_response()) is None:
        data = connection.recv(1 << 16)
        assert data, "Kafka closed the connection"
        wire.receive_data(data)
    assert not isinstance(found, bytes)
    (answer,) = found[1].responses[0].partition_responses
    error_code: int = answer.error_code
    return error_code


def _run_transactions(address: str, phase: int) -> None:
    """Two producers, commits and aborts, also some that overlap."""
    settings = {"bootstrap.servers": address, "linger.ms": 5, "log_level": 0}
    producers = [Producer(settings | {"transactional.id": f"t{number}"}) for number in (1, 2)]
    for producer in producers:
        producer.init_transactions(PATIENCE_SECONDS)
    for number in range(4):
        for producer in producers:
            producer.begin_transaction()
            for record in range(3):
                time_ms = NOW_MS + phase * 1000 + number * 10 + record
                producer.produce(TRANSACTIONS, b"value-%d" % record, b"key", 0, timestamp=time_ms)
            assert producer.flush(PATIENCE_SECONDS) == 0
        producers[0].commit_transaction(PATIENCE_SECONDS)
        finish: Callable[[float], object] = (
            producers[1].abort_transaction if number % 2 else producers[1].commit_transaction
        )
        finish(PATIENCE_SECONDS)


def _consumer(address: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "isolation.level": isolation,
        }
    )


def consume(
    consumer: Consumer, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, list[Record]]:
    """All that a consumer gets of some partitions from their beginning to their end."""
    found: dict[TopicPartition, list[Record]] = defaultdict(list)
    left = set(partitions)
    consumer.assign([Place(*partition, OFFSET_BEGINNING) for partition in left])
    while left:
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None, f"nothing more came, but the end of {left} was not reached"
        error = message.error()
        partition = TopicPartition(str(message.topic()), message.partition() or 0)
        if error is None:
            found[partition].append(_record_of(message))
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            left.discard(partition)
    return found


def _record_of(message: Message) -> Record:
    kind, time_ms = message.timestamp()
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Record(
        message.offset() or 0,
        -1 if kind == TIMESTAMP_NOT_AVAILABLE else time_ms,
        message.key(),
        message.value(),
        headers,
    )
