"""ApiVersions: what is served, in every version and beyond the last one."""

import struct

import pytest

from barnabas.server.handlers import HANDLERS
from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient

API_VERSIONS = 18
NAMED = ApiVersionsRequest(client_software_name="probe", client_software_version="1.0")


def raw_answer(client: RawClient) -> bytes:
    """The next frame as it comes."""
    while (frame := client.wire.frames.next_frame()) is None:
        client.wire.receive_data(client.sock.recv(1 << 16))
    return bytes(frame)


@pytest.mark.parametrize("version", range(6))
def test_the_table_of_handlers_is_told(client: RawClient, version: int) -> None:
    answer = client.call(NAMED, version)
    assert answer.error_code == 0
    told = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert told == {int(key): tuple(versions) for key, versions in HANDLERS.items()}


def test_produce_is_told_from_version_0(client: RawClient) -> None:
    # librdkafka up to 2.8 compresses only for brokers that know Produce v0.
    told = {each.api_key: each.min_version for each in client.call(NAMED, 3).api_keys}
    assert told[ApiKey.PRODUCE] == 0


@pytest.mark.parametrize("version", [6, 99, 32767])
@pytest.mark.parametrize("body", [b"\x00\x06probe\x041.0\x00", b"\xde\xad\xbe\xef", b""])
def test_a_version_of_the_future_is_told_ours(client: RawClient, version: int, body: bytes) -> None:
    header = struct.pack(">hhi", API_VERSIONS, version, 77) + struct.pack(">h", -1)
    client.send_frame(header + body)
    ours = HANDLERS[ApiKey.API_VERSIONS]
    assert raw_answer(client) == struct.pack(
        ">ihihhh", 77, ErrorCode.UNSUPPORTED_VERSION, 1, API_VERSIONS, ours.first, ours.last
    )
    assert client.call(NAMED, ours.last).error_code == 0


def test_the_answers_header_has_no_tags_though_others_have(client: RawClient) -> None:
    client.send_frame(bytes.fromhex("00120003 00000005 ffff 00 0670726f6265 04312e30 00"))
    answer = raw_answer(client)
    assert answer[:6] == struct.pack(">ih", 5, 0)
    request = MetadataRequest(topics=[])
    client.send(request, 9)
    assert raw_answer(client)[4] == 0  # the header's tags, none of them


@pytest.mark.parametrize("name", ["", "-", "two words", "ends-", "\u00e9"])
def test_clients_say_who_they_are(client: RawClient, name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    answer = client.call(request, 3)
    assert (answer.error_code, answer.api_keys) == (ErrorCode.INVALID_REQUEST, [])


def test_v5_notices_that_it_reached_another_broker(broker: Broker, client: RawClient) -> None:
    cluster_id = broker.server.metadata.cluster_id

    def code(cluster: str | None, node_id: int) -> int:
        request = ApiVersionsRequest(
            client_software_name="probe",
            client_software_version="1.0",
            cluster_id=cluster,
            node_id=node_id,
        )
        answer: int = client.call(request, 5).error_code
        return answer

    assert code(None, -1) == code(cluster_id, -1) == code(cluster_id, 0) == 0
    assert code("elsewhere", -1) == code(cluster_id, 9) == ErrorCode.REBOOTSTRAP_REQUIRED


@pytest.mark.parametrize(("key", "version"), [(9999, 0), (-1, 0), (3, 99), (3, -1), (4, 0)])
def test_what_is_not_served_closes_the_connection(
    client: RawClient, key: int, version: int
) -> None:
    client.send_frame(struct.pack(">hhih", key, version, 1, -1))
    assert client.is_closed()
