"""kafka-python 3 under the command contract (`contract.md`)."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence

import contract
from contract import Offsets, Received, Record
from kafka import (
    ConsumerRebalanceListener,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}

# A rejoin that new metadata caused is forgotten when the poll that began it times out before
# the answer to SyncGroup (3.0.12): the member then holds nothing for ever.
_POLL_TIMEOUT_MS = 500


def _received(polled: dict[TopicPartition, list[object]]) -> Iterator[Received]:
    for partition, records in polled.items():
        for record in records:
            yield Received(
                partition.topic,
                partition.partition,
                record.offset,
                record.timestamp,
                Record(record.key, record.value, list(record.headers)),
            )


def _positions(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        TopicPartition(*place): OffsetAndMetadata(offset, "", -1)
        for place, offset in offsets.items()
    }


class _Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        contract.emit_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        contract.emit_partitions("revoked", revoked)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        contract.emit_partitions("revoked", lost)


class GroupMember:
    """A subscribed consumer."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=options.bootstrap,
            group_id=options.group,
            group_instance_id=options.instance_id,
            partition_assignment_strategy=(_ASSIGNORS[options.assignor],),
            auto_offset_reset=options.start,
            enable_auto_commit=options.commit == "auto",
            auto_commit_interval_ms=200,
            session_timeout_ms=options.session_ms,
            heartbeat_interval_ms=100,
            metadata_max_age_ms=options.metadata_ms,
            fetch_max_wait_ms=100,
        )
        if options.topic.startswith("^"):
            self._consumer.subscribe(pattern=options.topic, listener=_Listener())
        else:
            self._consumer.subscribe(options.topic.split(","), listener=_Listener())

    def poll(self) -> list[Received]:
        return list(_received(self._consumer.poll(timeout_ms=_POLL_TIMEOUT_MS)))

    def commit_sync(self, offsets: Offsets) -> None:
        try:
            self._consumer.commit(_positions(offsets))
        except KafkaError as error:
            raise contract.CommitFailed(str(error)) from error

    def commit_async(self, offsets: Offsets) -> None:
        self._consumer.commit_async(_positions(offsets), callback=_report_to(offsets))

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(topic, partition), offset)

    def pause(self, topic: str, partition: int) -> None:
        self._consumer.pause(TopicPartition(topic, partition))

    def resume(self, topic: str, partition: int) -> None:
        self._consumer.resume(TopicPartition(topic, partition))

    def close(self) -> None:
        self._consumer.close()


def _report_to(offsets: Offsets) -> Callable[[object, object], None]:
    def report(_offsets: object, response: object) -> None:
        if isinstance(response, Exception):
            contract.emit("commit_failed", message=str(response))
        else:
            contract.emit_committed(offsets)

    return report


class Transactor:
    """A transactional producer."""

    def __init__(self, options: argparse.Namespace, timeout_ms: int) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=options.bootstrap,
            transactional_id=options.transactional_id,
            transaction_timeout_ms=timeout_ms,
        )

    def init(self) -> None:
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, records: Sequence[Record]) -> None:
        futures = [
            self._producer.send(
                topic,
                value=record.value,
                key=record.key,
                headers=record.headers,
                partition=partition,
            )
            for record in records
        ]
        for future in futures:
            future.get(30)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=1)


class Transformer(Transactor):
    """A member that writes what it reads in transactions."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, 60_000)
        self.init()
        self._consumer = KafkaConsumer(
            options.topic,
            bootstrap_servers=options.bootstrap,
            group_id=options.group,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )

    def poll(self, most: int) -> list[Received]:
        return list(_received(self._consumer.poll(timeout_ms=_POLL_TIMEOUT_MS, max_records=most)))

    def send_offsets(self, offsets: Offsets) -> None:
        group = self._consumer.group_metadata()
        self._producer.send_offsets_to_transaction(_positions(offsets), group)

    def go_back(self, offsets: Offsets) -> None:
        for place, offset in offsets.items():
            self._consumer.seek(TopicPartition(*place), offset)

    def close(self) -> None:
        self._consumer.close()
        super().close()


class KafkaPython:
    """The family's commands."""

    def produce(self, options: argparse.Namespace) -> None:
        producer = KafkaProducer(
            bootstrap_servers=options.bootstrap,
            compression_type=None if options.codec == "none" else options.codec,
            acks=options.acks if options.acks == "all" else int(options.acks),
            enable_idempotence=bool(options.idempotent),
            linger_ms=5,
        )
        futures = []
        for index in range(options.count):
            record = contract.record_at(options.prefix, index)
            future = producer.send(
                options.topic,
                value=record.value,
                key=record.key,
                headers=record.headers,
                partition=None if options.partition < 0 else options.partition,
                timestamp_ms=contract.timestamp_at(options, index),
            )
            futures.append(future)
        for index, future in enumerate(futures):
            metadata = future.get(30)
            offset = -1 if options.acks == "0" else metadata.offset  # it counts on from 0
            contract.emit("acked", index=index, partition=metadata.partition, offset=offset)
        producer.close()

    def consume(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = KafkaConsumer(
            bootstrap_servers=options.bootstrap,
            fetch_max_wait_ms=100,
            isolation_level=options.isolation or "read_uncommitted",
        )
        partition = TopicPartition(options.topic, options.partition)
        consumer.assign([partition])
        if options.start == "earliest":
            consumer.seek_to_beginning(partition)
        else:
            consumer.seek(partition, int(options.start))
        yield from contract.read(
            options, lambda most: _received(consumer.poll(timeout_ms=100, max_records=most))
        )
        consumer.close()

    def drain(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = KafkaConsumer(bootstrap_servers=options.bootstrap)
        places = [TopicPartition(options.topic, number) for number in range(options.partitions)]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        yield from contract.read(options, lambda _: _received(consumer.poll(timeout_ms=100)))
        consumer.close()

    def member(self, options: argparse.Namespace) -> GroupMember:
        return GroupMember(options)

    def transactor(self, options: argparse.Namespace) -> Transactor:
        return Transactor(options, options.timeout_ms)

    def transformer(self, options: argparse.Namespace) -> Transformer:
        return Transformer(options)


if __name__ == "__main__":
    contract.main(KafkaPython())
