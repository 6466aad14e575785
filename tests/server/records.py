"""Record batches as clients send them; Produce, Fetch and ListOffsets in few words."""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import BatchHeader, crc_is_valid, walk
from barnabas.storage.batch.records import Record
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.server.raw_client import RawClient

NOW_MS = 1_700_000_000_000
LATEST, EARLIEST = -1, -2


class Producer(NamedTuple):
    """Who an idempotent batch is from."""

    producer_id: int
    epoch: int = 0


NOBODY = Producer(-1, -1)


def make_batch(
    *values: bytes,
    timestamps: Sequence[int] = (),
    keys: Sequence[bytes | None] = (),
    codec: int = 0,
    leader_epoch: int = -1,
    producer: Producer = NOBODY,
    sequence: int = -1,
) -> bytearray:
    """A batch of format 2."""
    records = [
        Record(
            offset=index,
            timestamp=timestamps[index] if timestamps else NOW_MS,
            key=keys[index] if keys else None,
            value=value,
        )
        for index, value in enumerate(values)
    ]
    return build_batch(
        records,
        codec=codec,
        leader_epoch=leader_epoch,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
    )


def resealed(data: bytearray) -> bytearray:
    """A batch whose header was changed, with the checksum it should have."""
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return data


def produce_request(
    topic: str,
    data: bytes | bytearray,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """A request (v3 to v12) that appends to one partition."""
    wanted = PartitionProduceData(index=partition, records=bytes(data))
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=5000,
        topics=[TopicProduceData(name=topic, partitions=[wanted])],
    )


def produce(
    client: RawClient,
    topic: str,
    data: bytes | bytearray,
    *,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
    version: int = 9,
) -> PartitionProduceResponse:
    """Append to one partition; its answer."""
    request = produce_request(topic, data, partition, acks, transactional_id)
    (answer,) = client.call(request, version).responses[0].partition_responses
    found: PartitionProduceResponse = answer
    return found


def fetch_request(
    topic: str, offset: int, *, max_wait_ms: int = 0, max_bytes: int = 1 << 20
) -> FetchRequest:
    """A request (v4 to v12) that reads a topic's first partition, without a session."""
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def fetch(
    client: RawClient,
    *wanted: tuple[str, int, int, int],
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 25,
    isolation_level: int = 0,
    session: tuple[int, int] = (0, -1),
    version: int = 11,
) -> FetchResponse:
    """Fetch (topic, partition, offset, max bytes), with session (id, epoch) if the version has."""
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[
                    FetchPartition(
                        partition=index, fetch_offset=offset, partition_max_bytes=most_bytes
                    )
                ],
            )
            for topic, index, offset, most_bytes in wanted
        ],
    )
    answer: FetchResponse = client.call(request, version)
    return answer


def fetched(answer: FetchResponse) -> dict[tuple[str, int], PartitionData]:
    """The partitions of an answer, by topic and index."""
    return {
        (topic.topic, partition.partition_index): partition
        for topic in answer.responses
        for partition in topic.partitions
    }


def data_of(partition: PartitionData) -> bytes:
    """The records of a partition's answer, which are never null."""
    assert partition.records is not None
    records: Any = partition.records  # a view, as a client gets them
    return bytes(records)


def batches_of(partition: PartitionData) -> list[BatchHeader]:
    """The headers of the whole batches in a partition's answer, all of them sound."""
    data = data_of(partition)
    headers = list(walk(data, partial_tail=True))
    assert all(crc_is_valid(data, header) for header in headers)
    return headers


def read(client: RawClient, topic: str, offset: int = 0, partition: int = 0) -> PartitionData:
    """All of one partition from an offset on."""
    return fetched(fetch(client, (topic, partition, offset, 1 << 20)))[topic, partition]


def list_offset(
    client: RawClient,
    topic: str,
    timestamp: int,
    *,
    partition: int = 0,
    current_leader_epoch: int = -1,
    isolation_level: int = 0,
    version: int = 5,
) -> ListOffsetsPartitionResponse:
    """Look one offset up."""
    asked = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=current_leader_epoch
    )
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=[asked])],
    )
    (found,) = client.call(request, version).topics[0].partitions
    answer: ListOffsetsPartitionResponse = found
    return answer
