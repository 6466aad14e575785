"""librdkafka through confluent-kafka, under the command contract (`contract.md`)."""

import argparse
import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence

import contract
from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from contract import Offsets, Received, Record


def _on_delivery(index: int, error: KafkaError | None, message: Message) -> None:
    if error is not None:
        contract.emit("error", message=f"record {index}: {error}")
        return
    offset = message.offset()
    contract.emit(
        "acked",
        index=index,
        partition=message.partition(),
        offset=-1 if offset is None or offset < 0 else offset,
    )


def _received(message: Message) -> Received:
    kind, timestamp_ms = message.timestamp()
    headers = [(name, value) for name, value in message.headers() or []]
    return Received(
        message.topic(),
        message.partition(),
        message.offset(),
        -1 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        Record(message.key(), message.value(), headers),
    )


def _valid(messages: Iterable[Message]) -> Iterator[Received]:
    for message in messages:
        error = message.error()
        if error is None:
            yield _received(message)
        elif not error.retriable() and error.code() not in _PASSING_ERRORS:
            raise KafkaException(error)


_PASSING_ERRORS = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._PARTITION_EOF)


def _pairs(partitions: Iterable[TopicPartition]) -> list[tuple[str, int]]:
    return [(partition.topic, partition.partition) for partition in partitions]


def _positions(offsets: Offsets) -> list[TopicPartition]:
    return [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]


class GroupMember:
    """A subscribed consumer."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._consumer = Consumer(_group_settings(options) | {"on_commit": _on_commit(options)})
        self._consumer.subscribe(
            options.topic.split(","),
            on_assign=lambda _, got: contract.emit_partitions("assigned", _pairs(got)),
            on_revoke=lambda _, lost: contract.emit_partitions("revoked", _pairs(lost)),
        )

    def poll(self) -> list[Received]:
        return list(_valid(self._consumer.consume(100, timeout=0.05)))

    def commit_sync(self, offsets: Offsets) -> None:
        try:
            self._consumer.commit(offsets=_positions(offsets), asynchronous=False)
        except KafkaException as error:
            raise contract.CommitFailed(str(error)) from error

    def commit_async(self, offsets: Offsets) -> None:
        self._consumer.commit(offsets=_positions(offsets), asynchronous=True)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(topic, partition, offset))

    def pause(self, topic: str, partition: int) -> None:
        self._consumer.pause([TopicPartition(topic, partition)])

    def resume(self, topic: str, partition: int) -> None:
        self._consumer.resume([TopicPartition(topic, partition)])

    def close(self) -> None:
        self._consumer.close()


def _on_commit(options: argparse.Namespace) -> object:
    def report(error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        if options.commit == "sync":
            return
        if error is not None:
            contract.emit("commit_failed", message=str(error))
            return
        contract.emit_committed({(p.topic, p.partition): p.offset for p in partitions})

    return report


def _group_settings(options: argparse.Namespace) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": options.bootstrap,
        "group.id": options.group,
        "partition.assignment.strategy": options.assignor,
        "auto.offset.reset": options.start,
        "enable.auto.commit": options.commit == "auto",
        "auto.commit.interval.ms": 200,
        "session.timeout.ms": options.session_ms,
        "heartbeat.interval.ms": 100,
        "topic.metadata.refresh.interval.ms": options.metadata_ms,
    }
    if options.instance_id:
        settings["group.instance.id"] = options.instance_id
    return settings


class Transactor:
    """A transactional producer."""

    def __init__(self, options: argparse.Namespace, timeout_ms: int) -> None:
        self._failures: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": options.bootstrap,
                "transactional.id": options.transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "message.timeout.ms": timeout_ms,
                "log_level": 0,
            }
        )

    def init(self) -> None:
        self._producer.init_transactions(30)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, records: Sequence[Record]) -> None:
        self._failures.clear()
        for record in records:
            self._producer.produce(
                topic,
                partition=partition,
                key=record.key,
                value=record.value,
                headers=record.headers,
                on_delivery=self._on_delivery,
            )
        if self._producer.flush(30):
            raise TimeoutError("records were not delivered in 30 s")
        if self._failures:
            raise RuntimeError(self._failures[0])

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failures.append(str(error))

    def commit(self) -> None:
        self._producer.commit_transaction(30)

    def abort(self) -> None:
        self._producer.abort_transaction(30)

    def close(self) -> None:
        with contextlib.suppress(KafkaException):  # one that is fenced refuses that too
            self._producer.purge()


class Transformer(Transactor):
    """A member that writes what it reads in transactions."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, 60_000)
        self.init()
        self._consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": options.group,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([options.topic])

    def poll(self, most: int) -> list[Received]:
        return list(_valid(self._consumer.consume(most, timeout=0.1)))

    def send_offsets(self, offsets: Offsets) -> None:
        group = self._consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(_positions(offsets), group, 30)

    def go_back(self, offsets: Offsets) -> None:
        for place in _positions(offsets):
            self._consumer.seek(place)

    def close(self) -> None:
        self._consumer.close()
        super().close()


class Librdkafka:
    """The family's commands."""

    def produce(self, options: argparse.Namespace) -> None:
        producer = Producer(
            {
                "bootstrap.servers": options.bootstrap,
                "compression.type": options.codec,
                "acks": options.acks,
                "enable.idempotence": bool(options.idempotent),
                "linger.ms": 5,
            }
        )
        for index in range(options.count):
            record = contract.record_at(options.prefix, index)
            producer.produce(
                options.topic,
                partition=options.partition,
                key=record.key,
                value=record.value,
                headers=record.headers,
                timestamp=contract.timestamp_at(options, index) or 0,
                on_delivery=functools.partial(_on_delivery, index),
            )
        if producer.flush(30):
            raise TimeoutError("records were not delivered in 30 s")

    def consume(self, options: argparse.Namespace) -> Iterator[Received]:
        settings = {
            "bootstrap.servers": options.bootstrap,
            "group.id": "assigned",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        if options.isolation:
            settings["isolation.level"] = options.isolation
        consumer = Consumer(settings)
        start = -2 if options.start == "earliest" else int(options.start)
        consumer.assign([TopicPartition(options.topic, options.partition, start)])
        yield from contract.read(options, lambda most: _valid(consumer.consume(most, timeout=0.05)))
        consumer.close()

    def drain(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = Consumer({"bootstrap.servers": options.bootstrap, "group.id": "drain"})
        topic, numbers = options.topic, range(options.partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
        yield from contract.read(options, lambda most: _valid(consumer.consume(most, timeout=0.1)))
        consumer.close()

    def member(self, options: argparse.Namespace) -> GroupMember:
        return GroupMember(options)

    def transactor(self, options: argparse.Namespace) -> Transactor:
        return Transactor(options, options.timeout_ms)

    def transformer(self, options: argparse.Namespace) -> Transformer:
        return Transformer(options)


if __name__ == "__main__":
    contract.main(Librdkafka())
