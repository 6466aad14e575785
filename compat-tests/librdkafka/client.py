"""librdkafka through confluent-kafka, under the command contract (`contract.md`)."""

import argparse
import functools
from collections.abc import Iterable, Iterator

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
        consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": "assigned",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
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


if __name__ == "__main__":
    contract.main(Librdkafka())
