"""pykafka 2.8.0's Producer, SimpleConsumer and BalancedConsumer under `contract.md`."""

import argparse
import queue
from collections.abc import Iterable, Iterator

import contract
from contract import Offsets, Received, Record
from pykafka import KafkaClient
from pykafka.common import CompressionType, OffsetType
from pykafka.exceptions import KafkaException
from pykafka.partition import Partition

_CODECS = {
    "none": CompressionType.NONE,
    "gzip": CompressionType.GZIP,
    "snappy": CompressionType.SNAPPY,
    "lz4": CompressionType.LZ4,
}
_ACKS = {"0": 0, "1": 1, "all": -1}


class PyKafka:
    """The family's commands."""

    def produce(self, options: argparse.Namespace) -> None:
        client = KafkaClient(hosts=options.bootstrap)  # topics hold it by a weak reference
        topic = client.topics[options.topic]
        wanted = max(options.partition, 0)
        has_reports = options.acks != "0"
        with topic.get_producer(
            partitioner=lambda partitions, _key: _numbered(partitions, wanted),
            compression=_CODECS[options.codec],
            required_acks=_ACKS[options.acks],
            delivery_reports=has_reports,
            linger_ms=5,
        ) as producer:
            for index in range(options.count):
                record = contract.record_at(options.prefix, index)
                producer.produce(record.value, partition_key=record.key)
            for index in range(options.count):
                offset = _reported_offset(producer) if has_reports else -1
                contract.emit("acked", index=index, partition=wanted, offset=offset)

    def consume(self, options: argparse.Namespace) -> Iterator[Received]:
        client = KafkaClient(hosts=options.bootstrap)  # topics hold it by a weak reference
        topic = client.topics[options.topic]
        partition = topic.partitions[options.partition]
        consumer = topic.get_simple_consumer(
            partitions=[partition],
            auto_offset_reset=OffsetType.EARLIEST,
            consumer_timeout_ms=options.timeout_ms,
        )
        if options.start not in ("earliest", "0"):
            consumer.reset_offsets([(partition, int(options.start) - 1)])  # the last one read
        for _ in range(options.count):
            message = consumer.consume()
            if message is None:
                break
            record = Record(message.partition_key, message.value, [])
            yield Received(options.topic, options.partition, message.offset, -1, record)
        consumer.stop()

    def drain(self, options: argparse.Namespace) -> Iterator[Received]:
        client = KafkaClient(hosts=options.bootstrap)  # topics hold it by a weak reference
        consumer = client.topics[options.topic].get_simple_consumer(
            consumer_timeout_ms=options.timeout_ms
        )
        for _ in range(options.count):
            message = consumer.consume()
            if message is None:
                break
            record = Record(message.partition_key, message.value, [])
            yield Received(options.topic, message.partition_id, message.offset, -1, record)
        consumer.stop()

    def member(self, options: argparse.Namespace) -> contract.Member:
        return BalancedMember(options)


class BalancedMember:
    """A balanced consumer, whose group is in ZooKeeper; without `--zookeeper` in the broker."""

    def __init__(self, options: argparse.Namespace) -> None:
        where = options.zookeeper
        self._client = KafkaClient(hosts=options.bootstrap, zookeeper_hosts=where)
        self._topic = options.topic
        balancing = {"managed": True}
        if where is not None:
            balancing = {
                "zookeeper_connect": where,
                "zookeeper_connection_timeout_ms": options.session_ms,  # of the session, too
            }
        self._consumer = self._client.topics[options.topic].get_balanced_consumer(
            options.group,
            auto_commit_enable=options.commit == "auto",
            auto_commit_interval_ms=200,
            auto_offset_reset=OffsetType.EARLIEST,
            consumer_timeout_ms=100,
            rebalance_max_retries=20,
            rebalance_backoff_ms=100,
            post_rebalance_callback=self._rebalanced,
            **balancing,
        )

    def _rebalanced(self, _consumer: object, old: Iterable[int], new: Iterable[int]) -> None:
        for event, numbers in (("revoked", set(old) - set(new)), ("assigned", set(new) - set(old))):
            if numbers:
                contract.emit_partitions(event, [(self._topic, number) for number in numbers])

    def poll(self) -> list[Received]:
        message = self._consumer.consume()
        if message is None:
            return []
        record = Record(message.partition_key, message.value, [])
        return [Received(self._topic, message.partition_id, message.offset, -1, record)]

    def commit_sync(self, offsets: Offsets) -> None:
        """Commit what was handed out of all that it holds."""
        try:
            self._consumer.commit_offsets()
        except KafkaException as error:
            raise contract.CommitFailed(repr(error)) from error

    def commit_async(self, offsets: Offsets) -> None:
        raise NotImplementedError

    def seek(self, topic: str, partition: int, offset: int) -> None:
        raise NotImplementedError

    def pause(self, topic: str, partition: int) -> None:
        raise NotImplementedError

    def resume(self, topic: str, partition: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._consumer.stop()


def _numbered(partitions: list[Partition], number: int) -> Partition:
    return next(partition for partition in partitions if partition.id == number)


def _reported_offset(producer: object) -> int:
    try:
        message, failure = producer.get_delivery_report(timeout=30)
    except queue.Empty:
        raise TimeoutError("a record was not delivered in 30 s") from None
    if failure is not None:
        raise failure
    return message.offset


if __name__ == "__main__":
    contract.main(PyKafka())
