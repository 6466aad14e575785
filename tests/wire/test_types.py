"""What a handler sees of a message is typed: `scripts/typecheck` reads this file too.

At run time `assert_type` hands its argument on; a type checker refuses the file when the
declared type is another one.
"""

from __future__ import annotations

from typing import assert_type

from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.bound import Bound
from barnabas.wire.connection import Encoded, Request, ServerConnection
from barnabas.wire.frame import frame
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.schema import Message
from barnabas.wire.strings import RecordsSource
from barnabas.wire.uuids import Uuid


def produce() -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=b"batch")
    topic = TopicProduceData(name="t", partitions=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topics=[topic])


def test_a_request_as_a_handler_reads_it() -> None:
    bound = assert_type(ProduceRequest.at(9), Bound[ProduceRequest])
    request = assert_type(bound.parse(bound.build(produce())), ProduceRequest)
    assert assert_type(request.transactional_id, str | None) is None
    assert assert_type(request.acks, int) == -1
    topics = assert_type(request.topics, list[TopicProduceData])
    assert assert_type(topics[0].name, str) == "t"
    assert isinstance(assert_type(topics[0].topic_id, Uuid), Uuid)
    partition = assert_type(request.topics[0].partitions[0], PartitionProduceData)
    assert assert_type(partition.index, int) == 3
    assert assert_type(request.topics[0].partitions[0].records, bytes | memoryview | None)


def test_a_list_that_can_be_null() -> None:
    request = MetadataRequest.at(1).parse(MetadataRequest.at(1).build(MetadataRequest(topics=None)))
    assert assert_type(request.topics, list[MetadataRequestTopic] | None) is None


def test_a_response_as_a_handler_makes_it() -> None:
    partition = PartitionData(partition_index=3, high_watermark=7, records=memoryview(b"batch"))
    assert_type(partition.records, RecordsSource | None)
    assert assert_type(partition.current_leader, LeaderIdAndEpoch | None) is None
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    data = assert_type(FetchResponse.at(16).build(response), bytes)
    assert b"batch" in data


def test_a_class_found_by_key_is_a_message() -> None:
    found = assert_type(request_class(ApiKey.PRODUCE), type[Message])
    decoded = assert_type(found.at(9).decode(memoryview(found.at(9).build(produce())), 0), Message)
    assert decoded == produce()


def test_a_connection_gives_requests_tokens_or_nothing() -> None:
    server = ServerConnection()
    assert assert_type(server.next_request(), Request | bytes | None) is None
    server.receive_data(frame(b"\x00\x00\x00\x09\x00\x00\x00\x05\xff\xff\x00"))
    request = server.next_request()
    assert isinstance(request, Request)
    encoded = assert_type(server.respond(request.header, ProduceResponse()), Encoded)
    assert assert_type(encoded.size_bytes, int) == len(bytes(encoded))
