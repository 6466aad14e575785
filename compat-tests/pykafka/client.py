"""pykafka 2.8.0's Producer and SimpleConsumer under the command contract (`contract.md`)."""

import argparse
import queue
from collections.abc import Iterator

import contract
from contract import Received, Record
from pykafka import KafkaClient
from pykafka.common import CompressionType, OffsetType
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
        raise NotImplementedError("pykafka's balanced consumers are another issue's part")


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
