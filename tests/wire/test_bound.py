"""A message at a version: compiled once, errors with a place."""

from __future__ import annotations

import pytest

from barnabas.wire.bound import EXPLAINED_BYTES, Bound
from barnabas.wire.errors import Malformed, Truncated, UnsupportedVersion
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.schema import Message


def request(records: bytes = b"batch") -> ProduceRequest:
    partitions = [PartitionProduceData(index=index, records=records) for index in (0, 1)]
    return ProduceRequest(
        acks=-1, timeout_ms=30_000, topics=[TopicProduceData(name="t", partitions=partitions)]
    )


GOLDEN_V3 = bytes.fromhex(
    "ffff"  # transactional_id: null
    "ffff"  # acks: -1
    "00007530"  # timeout_ms: 30,000
    "00000001"  # one topic
    "0001 74"  # name
    "00000002"  # two partitions
    "00000000 00000005 6261746368"  # index, size of the records, records
    "00000001 00000005 6261746368"
)


def test_golden() -> None:
    bound = ProduceRequest.at(3)
    assert bound.build(request()) == GOLDEN_V3
    assert bound.parse(GOLDEN_V3) == request()
    assert bound.parse(b"head" + GOLDEN_V3 + b"rest", 4) == request()


def test_records_are_views_into_the_frame() -> None:
    frame = bytearray(GOLDEN_V3)
    records = ProduceRequest.at(3).parse(frame).topics[0].partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame


def test_both_functions_are_compiled_once() -> None:
    bound = Bound(ProduceRequest, 9, flexible=True)
    first = bound.decode
    data = ProduceRequest.at(9).build(request())
    first(memoryview(data), 0)
    compiled = bound.decode
    assert compiled != first
    first(memoryview(data), 0)
    assert bound.decode is compiled
    keep = bound.encode
    keep(request(), bytearray(), [])
    written = bound.encode
    keep(request(), bytearray(), [])
    assert bound.encode is written != keep


def test_an_error_names_its_place() -> None:
    with pytest.raises(Truncated) as cut:
        ProduceRequest.at(3).parse(GOLDEN_V3[:-2])
    assert cut.value.path == "topics[0].partitions[1].records"
    with pytest.raises(Malformed) as wrong:
        ProduceRequest.at(3).build(
            ProduceRequest(acks=1 << 15, timeout_ms=1)  # one more than an int16 holds
        )
    assert wrong.value.path == "acks"
    with pytest.raises(UnsupportedVersion) as lacking:
        MetadataRequest.at(3).build(MetadataRequest(topics=[], allow_auto_topic_creation=False))
    assert lacking.value.path == "allow_auto_topic_creation"


def test_a_large_frame_is_not_read_twice_for_its_error() -> None:
    data = ProduceRequest.at(3).build(request(bytes(EXPLAINED_BYTES)))
    with pytest.raises(Truncated) as cut:
        ProduceRequest.at(3).parse(data[:-2])
    assert cut.value.path == ""


def test_the_reference_path_agrees() -> None:
    bound = MetadataRequest.at(9)
    message = MetadataRequest(topics=[MetadataRequestTopic(name="a")])
    assert bound.reference.build(message) == bound.build(message)
    assert bound.reference.parse(bound.build(message)) == message


@pytest.mark.parametrize("version", [-1, 14, 99])
def test_versions_that_are_not_there(version: int) -> None:
    message: type[Message] = ProduceRequest
    with pytest.raises(UnsupportedVersion, match="ProduceRequest has versions 0 to 13"):
        message.at(version)
