"""kafka-python 0.9.5 under the command contract (`contract.md`): SimpleClient's own calls.

Its SimpleProducer sends values only; the request below it takes keys too. Its SimpleConsumer
asks for the group's offsets with OffsetFetch v0 before it reads.
"""

import argparse
from collections.abc import Iterator

import contract
from contract import Received, Record
from kafka import KafkaClient, SimpleConsumer
from kafka.common import ProduceRequest
from kafka.protocol import CODEC_GZIP, CODEC_NONE, CODEC_SNAPPY, create_message_set

_CODECS = {"none": CODEC_NONE, "gzip": CODEC_GZIP, "snappy": CODEC_SNAPPY}
_ACKS = {"0": 0, "1": 1, "all": -1}


class KafkaPythonSimple:
    """The family's commands."""

    def produce(self, options: argparse.Namespace) -> None:
        client = KafkaClient(options.bootstrap)
        records = [contract.record_at(options.prefix, index) for index in range(options.count)]
        pairs = [(record.value, record.key) for record in records]
        messages = create_message_set(pairs, _CODECS[options.codec])
        partition = max(options.partition, 0)
        request = ProduceRequest(options.topic.encode(), partition, messages)
        answers = client.send_produce_request([request], acks=_ACKS[options.acks])
        client.close()
        first = answers[0].offset if answers and answers[0] is not None else None
        for index in range(options.count):
            offset = -1 if first is None else first + index
            contract.emit("acked", index=index, partition=partition, offset=offset)

    def consume(self, options: argparse.Namespace) -> Iterator[Received]:
        client = KafkaClient(options.bootstrap)
        consumer = SimpleConsumer(
            client,
            b"simple-reader",
            options.topic.encode(),
            auto_commit=False,
            partitions=[options.partition],
            buffer_size=1 << 20,
            max_buffer_size=None,
        )
        if options.start == "earliest":
            consumer.seek(0, 0)
        else:
            consumer.seek(int(options.start))

        def poll(most: int) -> Iterator[Received]:
            for found in consumer.get_messages(most, timeout=0.1):
                record = Record(found.message.key, found.message.value, [])
                yield Received(options.topic, options.partition, found.offset, -1, record)

        yield from contract.read(options, poll)
        client.close()

    def drain(self, options: argparse.Namespace) -> Iterator[Received]:
        client = KafkaClient(options.bootstrap)
        consumer = SimpleConsumer(client, b"drain", options.topic.encode(), auto_commit=False)
        consumer.provide_partition_info()
        consumer.seek(0, 0)

        def poll(most: int) -> Iterator[Received]:
            for partition, found in consumer.get_messages(most, timeout=0.1):
                record = Record(found.message.key, found.message.value, [])
                yield Received(options.topic, partition, found.offset, -1, record)

        yield from contract.read(options, poll)
        client.close()

    def member(self, options: argparse.Namespace) -> contract.Member:
        raise NotImplementedError("0.9.5 has no groups")


if __name__ == "__main__":
    contract.main(KafkaPythonSimple())
