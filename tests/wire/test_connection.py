"""Both ends of a conversation, back to back: what one sends the other gets, equal."""

from __future__ import annotations

import pytest

from barnabas.wire.api import ApiKey
from barnabas.wire.connection import (
    ClientConnection,
    Encoded,
    Request,
    ServerConnection,
    encode_response,
)
from barnabas.wire.errors import Malformed, Truncated, UnsupportedVersion
from barnabas.wire.frame import FrameTooLarge, frame
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.wire.schema import Message, message

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
METADATA = MetadataRequest(topics=None)


class FileSlice:
    """Records that are elsewhere until somebody reads them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def read(self) -> bytes:
        return self._data


def next_request(server: ServerConnection) -> Request:
    request = server.next_request()
    assert isinstance(request, Request)
    return request


def ask(
    client: ClientConnection, server: ServerConnection, asked: Message, version: int
) -> Request:
    server.receive_data(client.send(asked, version))
    return next_request(server)


def test_golden_request() -> None:
    assert ClientConnection("rda").send(HEARTBEAT, 4) == bytes.fromhex(
        "00000018"  # length
        "000c 0004"  # Heartbeat version 4, flexible
        "00000000"  # correlation id
        "0003 726461 00"  # client id, no tags
        "02 67"  # group_id
        "00000001"  # generation_id
        "02 6d"  # member_id
        "00"  # group_instance_id: null
        "00"  # no tags
    )


def test_golden_response() -> None:
    response = HeartbeatResponse(throttle_time_ms=5, error_code=27)
    assert bytes(encode_response(ApiKey.HEARTBEAT, 4, 7, response)) == bytes.fromhex(
        "0000000c"  # length
        "00000007 00"  # correlation id, no tags
        "00000005 001b 00"  # throttle_time_ms, error_code, no tags
    )
    assert bytes(encode_response(ApiKey.HEARTBEAT, 3, 7, response)) == bytes.fromhex(
        "0000000a 00000007 00000005 001b"
    )


@pytest.mark.parametrize("version", HeartbeatRequest.VERSIONS)
def test_a_request_and_its_answer(version: int) -> None:
    client, server = ClientConnection("rda"), ServerConnection()
    request = ask(client, server, HEARTBEAT, version)
    assert request.message() == HEARTBEAT
    assert (request.header.api_version, request.header.client_id) == (version, "rda")
    assert server.next_request() is None
    answer = HeartbeatResponse(error_code=27)
    client.receive_data(bytes(server.respond(request.header, answer)))
    assert client.next_response() == (request.header.correlation_id, answer)
    assert client.next_response() is None


def test_correlation_ids_count_up_and_tell_answers_apart() -> None:
    client, server = ClientConnection(), ServerConnection()
    first = ask(client, server, HEARTBEAT, 4)
    second = ask(client, server, METADATA, 12)
    assert [first.header.correlation_id, second.header.correlation_id] == [0, 1]
    client.receive_data(bytes(server.respond(second.header, MetadataResponse())))
    client.receive_data(bytes(server.respond(first.header, HeartbeatResponse())))
    assert client.next_response() == (1, MetadataResponse())
    assert client.next_response() == (0, HeartbeatResponse())


def test_the_correlation_id_starts_over_at_the_end_of_int32() -> None:
    client, server = ClientConnection(), ServerConnection()
    client._next_correlation_id = 2**31 - 1
    assert ask(client, server, HEARTBEAT, 0).header.correlation_id == 2**31 - 1
    assert ask(client, server, HEARTBEAT, 0).header.correlation_id == 0


def test_an_answer_nobody_waits_for() -> None:
    client, server = ClientConnection(), ServerConnection()
    request = ask(client, server, HEARTBEAT, 4)
    answer = bytes(server.respond(request.header, HeartbeatResponse()))
    client.receive_data(answer + answer)
    assert client.next_response() == (0, HeartbeatResponse())
    with pytest.raises(Malformed, match="request 0, which was never sent"):
        client.next_response()


def test_a_request_that_is_not_answered_leaves_nothing_behind() -> None:
    client, server = ClientConnection(), ServerConnection()
    server.receive_data(client.send(ProduceRequest(acks=0, timeout_ms=1), 9, answered=False))
    message = next_request(server).message()
    assert isinstance(message, ProduceRequest)
    assert message.acks == 0
    client.receive_data(b"\x00\x00\x00\x04\x00\x00\x00\x00")
    with pytest.raises(Malformed, match="never sent"):
        client.next_response()


def test_many_requests_in_one_read_come_in_order() -> None:
    client, server = ClientConnection(), ServerConnection()
    server.receive_data(b"".join(client.send(HEARTBEAT, 4) for _ in range(100)))
    ids = [next_request(server).header.correlation_id for _ in range(100)]
    assert ids == list(range(100))


def test_an_api_versions_that_the_broker_does_not_know() -> None:
    """It is answered in version 0, with error 35, and the client reads it (KIP-511)."""
    client, server = ClientConnection(), ServerConnection()
    request = ask(client, server, ApiVersionsRequest(), 5)
    answer = ApiVersionsResponse(
        error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
    )
    encoded = encode_response(ApiKey.API_VERSIONS, 0, request.header.correlation_id, answer)
    client.receive_data(bytes(encoded))
    assert client.next_response() == (0, answer)


def test_the_answer_to_api_versions_has_the_old_header() -> None:
    client, server = ClientConnection(), ServerConnection()
    request = ask(client, server, ApiVersionsRequest(), 4)
    answer = bytes(server.respond(request.header, ApiVersionsResponse()))
    assert answer[4:10] == bytes(6)  # correlation id, then error_code
    client.receive_data(answer)
    assert client.next_response() == (0, ApiVersionsResponse())


def test_sasl_version_0_tokens_in_both_directions() -> None:
    """After SaslHandshake v0 the frames are tokens and nothing else (KIP-43)."""
    client, server = ClientConnection("rda"), ServerConnection()
    handshake = ask(client, server, SaslHandshakeRequest(mechanism="PLAIN"), 0)
    accepted = SaslHandshakeResponse(mechanisms=["PLAIN"])
    client.receive_data(bytes(server.respond(handshake.header, accepted)))
    assert client.next_response() == (0, accepted)
    client.expect_tokens(True)
    server.expect_tokens(True)
    server.receive_data(frame(b"\x00alice\x00hunter2"))
    assert server.next_request() == b"\x00alice\x00hunter2"
    assert server.next_request() is None
    client.receive_data(server.respond_token(b""))
    assert client.next_response() == b""
    client.expect_tokens(False)
    server.expect_tokens(False)
    request = ask(client, server, HEARTBEAT, 4)
    client.receive_data(bytes(server.respond(request.header, HeartbeatResponse())))
    assert client.next_response() == (1, HeartbeatResponse())


def test_a_token_never_shows() -> None:
    server = ServerConnection()
    server.expect_tokens(True)
    server.receive_data(frame(b"hunter2"))
    assert "hunter2" not in repr(server) + repr(server.frames)


def test_records_elsewhere_are_put_in_their_place() -> None:
    """The head of the frame knows their size; their bytes are sent from where they are."""
    partitions = [
        PartitionData(partition_index=index, high_watermark=0, records=FileSlice(data))
        for index, data in enumerate((b"first", b"second batch"))
    ]
    topic = FetchableTopicResponse(topic="t", partitions=partitions)
    response = FetchResponse(responses=[topic])
    encoded = encode_response(ApiKey.FETCH, 12, 7, response)
    whole = bytes(encoded)
    assert isinstance(encoded, Encoded)
    assert b"first" not in encoded.head
    assert len(encoded.cuts) == 2
    assert encoded.size_bytes == len(whole) == int.from_bytes(whole[:4], "big") + 4
    for each, data in zip(partitions, (b"first", b"second batch"), strict=True):
        each.records = data
    assert bytes(encode_response(ApiKey.FETCH, 12, 7, response)) == whole


def test_what_is_wrong_with_a_request() -> None:
    client, server = ClientConnection(), ServerConnection(max_frame_bytes=1000)
    cut = client.send(HEARTBEAT, 3)[4:-3]
    server.receive_data(frame(cut))
    with pytest.raises(Truncated):
        next_request(server).message()
    server.receive_data(frame(b"\x00\x0c\x00\x63" + bytes(7)))
    with pytest.raises(UnsupportedVersion, match="HeartbeatRequest has versions 0 to 4, not 99"):
        next_request(server).message()
    server.receive_data(frame(b"\x00\x0c"))
    with pytest.raises(Truncated, match="the header"):
        server.next_request()
    server.receive_data(frame(bytes(1001)))
    with pytest.raises(FrameTooLarge):
        server.next_request()


def test_a_response_too_short_for_its_correlation_id() -> None:
    client = ClientConnection()
    client.receive_data(frame(b"\x00\x00\x00"))
    with pytest.raises(Malformed, match="a response of 3 bytes"):
        client.next_response()


def test_only_requests_are_sent() -> None:
    with pytest.raises(Malformed, match="Sample is no request"):
        ClientConnection().send(Sample(), 0)


@message(versions=(0, 0))
class Sample(Message):
    """A message that belongs to no API."""
