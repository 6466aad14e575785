"""Headers: which version goes where, their bytes, and what is none."""

from __future__ import annotations

import pytest

from barnabas.wire.api import ApiKey
from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.header import (
    RequestHeader,
    parse_request_header,
    parse_response_header,
    request_header_version,
    response_header_version,
    write_request_header,
)
from barnabas.wire.messages.request_header import RequestHeader as Declared
from barnabas.wire.messages.response_header import ResponseHeader as DeclaredResponse

V0 = bytes.fromhex(
    "0007"  # ControlledShutdown
    "0000"  # version 0
    "00000005"  # correlation id
)
V1 = bytes.fromhex(
    "0003"  # Metadata
    "0008"  # version 8, the last before flexible ones
    "00000005"  # correlation id
    "0003 726461"  # client id
)
V2 = bytes.fromhex(
    "0003"  # Metadata
    "0009"  # version 9, flexible
    "00000005"  # correlation id
    "0003 726461"  # client id, with the old length
    "01 09 02 aabb"  # one tagged field
)


def test_golden() -> None:
    for data, header in [
        (V0, RequestHeader(7, 0, 5, None)),
        (V1, RequestHeader(3, 8, 5, "rda")),
        (V2, RequestHeader(3, 9, 5, "rda", ((9, b"\xaa\xbb"),))),
    ]:
        parsed, body_start = parse_request_header(memoryview(data + b"body"))
        assert repr(parsed) == repr(header)
        assert parsed.tags == header.tags
        assert body_start == len(data)
        out = bytearray()
        write_request_header(out, header)
        assert out == data


def test_it_is_what_the_declaration_says() -> None:
    for version, data in enumerate((V0, V1, V2)):
        declared = Declared.at(version).parse(data)
        header, _ = parse_request_header(memoryview(data))
        assert declared.request_api_key == header.api_key
        assert declared.request_api_version == header.api_version
        assert declared.correlation_id == header.correlation_id
        assert (declared.client_id or None) == header.client_id
        assert declared.unknown_tagged_fields == header.tags
        assert Declared.at(version).build(declared) == data


@pytest.mark.parametrize(
    ("key", "version", "request_", "response"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),  # its response has no tags in the header (KIP-511)
        (ApiKey.API_VERSIONS, 99, 2, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, 1, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, 2, 1),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.VOTE, 0, 2, 1),
        (999, 0, 1, 0),
        (-1, -1, 1, 0),
    ],
)
def test_which_version_goes_where(key: int, version: int, request_: int, response: int) -> None:
    assert request_header_version(key, version) == request_
    assert response_header_version(key, version) == response


def test_no_client_id() -> None:
    header, body_start = parse_request_header(memoryview(V1[:8] + b"\xff\xff"))
    assert (header.client_id, body_start) == (None, 10)
    out = bytearray()
    write_request_header(out, header)
    assert out == V1[:8] + b"\xff\xff"


def test_the_client_id_of_the_oldest_header_is_not_looked_for() -> None:
    """The body of ControlledShutdown v0 is a broker id, which is no length."""
    header, body_start = parse_request_header(memoryview(V0 + b"\x00\x00\x00\x2a"))
    assert (header.client_id, body_start) == (None, 8)


@pytest.mark.parametrize("data", [V1, V2])
def test_every_cut_is_truncated(data: bytes) -> None:
    for cut in range(len(data)):
        with pytest.raises(Truncated):
            parse_request_header(memoryview(data)[:cut])


def test_a_client_id_that_is_no_text() -> None:
    with pytest.raises(Malformed, match="client_id: text that is not UTF-8"):
        parse_request_header(memoryview(V1[:-1] + b"\xff"))


def test_response_headers() -> None:
    old = bytes.fromhex("00000005")
    flexible = bytes.fromhex("00000005 01 09 01 aa")
    assert parse_response_header(memoryview(old), ApiKey.METADATA, 8) == (5, (), 4)
    assert parse_response_header(memoryview(flexible), ApiKey.METADATA, 9) == (
        5,
        ((9, b"\xaa"),),
        8,
    )
    assert parse_response_header(memoryview(old + b"\x00"), ApiKey.API_VERSIONS, 3) == (5, (), 4)
    assert DeclaredResponse.at(0).parse(old).correlation_id == 5
    assert DeclaredResponse.at(1).parse(flexible).unknown_tagged_fields == ((9, b"\xaa"),)
    for cut in range(4):
        with pytest.raises(Truncated):
            parse_response_header(memoryview(old)[:cut], ApiKey.METADATA, 8)
