"""aiokafka under the command contract (`contract.md`).

Its event loop runs only inside the calls below. The member loop polls without a pause, so
heartbeats and background commits get their turns.
"""

import argparse
import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import contract
from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    OffsetAndMetadata,
    TopicPartition,
)
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError
from contract import Offsets, Received, Record

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


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


class _Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        contract.emit_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        contract.emit_partitions("revoked", revoked)


class GroupMember:
    """A subscribed consumer on the program's event loop."""

    def __init__(self, options: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._commits: set[asyncio.Task[None]] = set()
        self._consumer = loop.run_until_complete(self._start(options))

    async def _start(self, options: argparse.Namespace) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
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
            consumer.subscribe(pattern=options.topic, listener=_Listener())
        else:
            consumer.subscribe(options.topic.split(","), listener=_Listener())
        await consumer.start()
        return consumer

    def poll(self) -> list[Received]:
        return list(_received(self._loop.run_until_complete(self._consumer.getmany(timeout_ms=50))))

    async def _commit(self, offsets: Offsets) -> None:
        try:
            await self._consumer.commit(
                {
                    TopicPartition(*place): OffsetAndMetadata(offset, "")
                    for place, offset in offsets.items()
                }
            )
        except KafkaError as error:
            raise contract.CommitFailed(str(error)) from error

    def commit_sync(self, offsets: Offsets) -> None:
        self._loop.run_until_complete(self._commit(offsets))

    def commit_async(self, offsets: Offsets) -> None:
        task = self._loop.create_task(self._commit_and_report(offsets))
        self._commits.add(task)
        task.add_done_callback(self._commits.discard)

    async def _commit_and_report(self, offsets: Offsets) -> None:
        try:
            await self._commit(offsets)
        except contract.CommitFailed as error:
            contract.emit("commit_failed", message=str(error))
        else:
            contract.emit_committed(offsets)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._on_loop(self._consumer.seek, TopicPartition(topic, partition), offset)

    def pause(self, topic: str, partition: int) -> None:
        self._on_loop(self._consumer.pause, TopicPartition(topic, partition))

    def resume(self, topic: str, partition: int) -> None:
        self._on_loop(self._consumer.resume, TopicPartition(topic, partition))

    def _on_loop(self, call: Callable[..., None], *arguments: object) -> None:
        async def run() -> None:
            call(*arguments)

        self._loop.run_until_complete(run())

    def close(self) -> None:
        self._loop.run_until_complete(self._close())

    async def _close(self) -> None:
        if self._commits:
            await asyncio.wait(self._commits, timeout=5)
        await self._consumer.stop()


class Transactor:
    """A transactional producer on the program's event loop."""

    def __init__(
        self, options: argparse.Namespace, timeout_ms: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._run = loop.run_until_complete
        self._producer = self._run(self._made(options, timeout_ms))

    async def _made(self, options: argparse.Namespace, timeout_ms: int) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=options.bootstrap,
            transactional_id=options.transactional_id,
            transaction_timeout_ms=timeout_ms,
        )

    def init(self) -> None:
        self._run(self._producer.start())  # it asks for the producer id here

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, records: Sequence[Record]) -> None:
        self._run(self._send(topic, partition, records))

    async def _send(self, topic: str, partition: int, records: Sequence[Record]) -> None:
        futures = [
            await self._producer.send(
                topic,
                value=record.value,
                key=record.key,
                partition=partition,
                headers=record.headers,
            )
            for record in records
        ]
        for future in futures:
            await asyncio.wait_for(future, 30)

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        self._run(self._producer.stop())


class Transformer(Transactor):
    """A member that writes what it reads in transactions."""

    def __init__(self, options: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(options, 60_000, loop)
        self.init()
        self._group = options.group
        self._consumer = self._run(self._subscribed(options))

    async def _subscribed(self, options: argparse.Namespace) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            options.topic,
            bootstrap_servers=options.bootstrap,
            group_id=options.group,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )
        await consumer.start()
        return consumer

    def poll(self, most: int) -> list[Received]:
        getting = self._consumer.getmany(timeout_ms=100, max_records=most)
        return list(_received(self._run(getting)))

    def send_offsets(self, offsets: Offsets) -> None:
        positions = {
            TopicPartition(*place): OffsetAndMetadata(offset, "")
            for place, offset in offsets.items()
        }
        self._run(self._producer.send_offsets_to_transaction(positions, self._group))

    def go_back(self, offsets: Offsets) -> None:
        async def seek() -> None:
            for place, offset in offsets.items():
                self._consumer.seek(TopicPartition(*place), offset)

        self._run(seek())

    def close(self) -> None:
        self._run(self._consumer.stop())
        super().close()


class AioKafka:
    """The family's commands."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def produce(self, options: argparse.Namespace) -> None:
        self._loop.run_until_complete(self._produce(options))

    async def _produce(self, options: argparse.Namespace) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=options.bootstrap,
            compression_type=None if options.codec == "none" else options.codec,
            acks=options.acks if options.acks == "all" else int(options.acks),
            enable_idempotence=bool(options.idempotent),
            linger_ms=5,
        )
        await producer.start()
        try:
            futures = [await self._send(producer, options, index) for index in range(options.count)]
            for index, future in enumerate(futures):
                metadata = await asyncio.wait_for(future, 30)
                _report_ack(index, options, metadata)
        finally:
            await producer.stop()

    async def _send(
        self, producer: AIOKafkaProducer, options: argparse.Namespace, index: int
    ) -> "asyncio.Future[object]":
        record = contract.record_at(options.prefix, index)
        return await producer.send(
            options.topic,
            value=record.value,
            key=record.key,
            partition=None if options.partition < 0 else options.partition,
            timestamp_ms=contract.timestamp_at(options, index),
            headers=record.headers,
        )

    def consume(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = self._loop.run_until_complete(self._assigned(options))

        def poll(most: int) -> Iterator[Received]:
            getting = consumer.getmany(timeout_ms=100, max_records=most)
            return _received(self._loop.run_until_complete(getting))

        yield from contract.read(options, poll)
        self._loop.run_until_complete(consumer.stop())

    async def _assigned(self, options: argparse.Namespace) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=options.bootstrap,
            fetch_max_wait_ms=100,
            isolation_level=options.isolation or "read_uncommitted",
        )
        await consumer.start()
        partition = TopicPartition(options.topic, options.partition)
        consumer.assign([partition])
        if options.start == "earliest":
            await consumer.seek_to_beginning(partition)
        else:
            consumer.seek(partition, int(options.start))
        return consumer

    def drain(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = self._loop.run_until_complete(self._with_all(options))

        def poll(_most: int) -> Iterator[Received]:
            getting = consumer.getmany(timeout_ms=100)
            return _received(self._loop.run_until_complete(getting))

        yield from contract.read(options, poll)
        self._loop.run_until_complete(consumer.stop())

    async def _with_all(self, options: argparse.Namespace) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(bootstrap_servers=options.bootstrap)
        await consumer.start()
        places = [TopicPartition(options.topic, number) for number in range(options.partitions)]
        consumer.assign(places)
        await consumer.seek_to_beginning(*places)
        return consumer

    def member(self, options: argparse.Namespace) -> GroupMember:
        return GroupMember(options, self._loop)

    def transactor(self, options: argparse.Namespace) -> Transactor:
        return Transactor(options, options.timeout_ms, self._loop)

    def transformer(self, options: argparse.Namespace) -> Transformer:
        return Transformer(options, self._loop)


def _report_ack(index: int, options: argparse.Namespace, metadata: object) -> None:
    if metadata is None:
        contract.emit("acked", index=index, partition=options.partition, offset=-1)
    else:
        contract.emit("acked", index=index, partition=metadata.partition, offset=metadata.offset)


if __name__ == "__main__":
    contract.main(AioKafka())
