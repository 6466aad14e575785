"""kafka-python 1.3.5 and 2.0.2 under the command contract (`contract.md`), without groups."""

import argparse
import inspect
from collections.abc import Iterator

import contract
from contract import Received, Record
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

_HAS_HEADERS = "headers" in inspect.signature(KafkaProducer.send).parameters  # since 1.4


class KafkaPythonOld:
    """The family's commands."""

    def produce(self, options: argparse.Namespace) -> None:
        producer = KafkaProducer(
            bootstrap_servers=options.bootstrap,
            compression_type=None if options.codec == "none" else options.codec,
            acks=options.acks if options.acks == "all" else int(options.acks),
            linger_ms=5,
        )
        futures = [self._send(producer, options, index) for index in range(options.count)]
        for index, future in enumerate(futures):
            metadata = future.get(30)
            contract.emit(
                "acked", index=index, partition=metadata.partition, offset=metadata.offset
            )
        producer.close()

    def _send(self, producer: KafkaProducer, options: argparse.Namespace, index: int) -> object:
        record = contract.record_at(options.prefix, index)
        return producer.send(
            options.topic,
            value=record.value,
            key=record.key,
            partition=None if options.partition < 0 else options.partition,
            timestamp_ms=contract.timestamp_at(options, index),
            **({"headers": record.headers} if _HAS_HEADERS else {}),
        )

    def consume(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = KafkaConsumer(bootstrap_servers=options.bootstrap, fetch_max_wait_ms=100)
        partition = TopicPartition(options.topic, options.partition)
        consumer.assign([partition])
        if options.start == "earliest":
            consumer.seek_to_beginning(partition)
        else:
            consumer.seek(partition, int(options.start))

        def poll(most: int) -> Iterator[Received]:
            polled = consumer.poll(timeout_ms=100, max_records=most)
            return map(_received, polled.get(partition, []))

        yield from contract.read(options, poll)
        consumer.close()

    def drain(self, options: argparse.Namespace) -> Iterator[Received]:
        consumer = KafkaConsumer(bootstrap_servers=options.bootstrap)
        places = [TopicPartition(options.topic, number) for number in range(options.partitions)]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)

        def poll(_most: int) -> Iterator[Received]:
            for records in consumer.poll(timeout_ms=100).values():
                yield from map(_received, records)

        yield from contract.read(options, poll)
        consumer.close()

    def member(self, options: argparse.Namespace) -> contract.Member:
        raise NotImplementedError("groups are the newest kafka-python's part")


def _received(record: object) -> Received:
    headers = list(record.headers) if _HAS_HEADERS else []
    timestamp_ms = -1 if record.timestamp is None else record.timestamp
    content = Record(record.key, record.value, headers)
    return Received(record.topic, record.partition, record.offset, timestamp_ms, content)


if __name__ == "__main__":
    contract.main(KafkaPythonOld())
