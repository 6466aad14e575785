"""Every frame that real clients and brokers exchanged decodes, and encodes to the same bytes.

The frames and what Kafka's own classes read in them are in `golden/wire` of the shared data
beside the repository; its README says how they were made.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from barnabas.wire.api import ApiKey, api_name, request_class, response_class
from barnabas.wire.header import (
    parse_request_header,
    parse_response_header,
    request_header_version,
    response_header_version,
    write_request_header,
)
from barnabas.wire.tags import write_tags
from tests.wire.kafka_json import to_json

# librdkafka puts one byte too many behind this request; Kafka does not look.
SURPLUS = {ApiKey.ALTER_USER_SCRAM_CREDENTIALS: b"\0"}
# Names that 4.4 has for what the frames' broker called otherwise.
RENAMED = {"generationId": "generationIdOrMemberEpoch"}
GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden" / "wire"


class Frame(NamedTuple):
    """One line of frames.jsonl."""

    line: int
    key: ApiKey
    version: int
    request: bytes
    response: bytes | None

    def __str__(self) -> str:
        return f"line {self.line}: {api_name(self.key)} version {self.version}"


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    path = GOLDEN / "frames.jsonl"
    if not path.is_file():
        pytest.skip("no ../shared/golden beside the repository")
    lines = enumerate(path.read_text().splitlines(), 1)
    every = [frame(number, json.loads(line)) for number, line in lines]
    return [each for each in every if each.version in request_class(each.key).VERSIONS]


def frame(number: int, line: dict[str, Any]) -> Frame:
    response = line["response"]
    return Frame(
        number,
        ApiKey(line["api_key"]),
        line["version"],
        bytes.fromhex(line["request"]),
        bytes.fromhex(response) if response is not None else None,
    )


@pytest.fixture(scope="module")
def decoded() -> dict[int, dict[str, Any]]:
    path = GOLDEN / "frames-decoded.jsonl.gz"
    if not path.is_file():
        pytest.skip("no ../shared/golden beside the repository")
    with gzip.open(path, "rt") as lines:
        return {each["line"]: each for each in map(json.loads, lines)}


def test_requests_decode_and_encode_to_the_same_bytes(frames: list[Frame]) -> None:
    for each in frames:
        header, body = parse_request_header(memoryview(each.request))
        assert (header.api_key, header.api_version) == (each.key, each.version), str(each)
        bound = request_class(each.key).at(each.version)
        out = bytearray()
        write_request_header(out, header)
        assert len(out) == body, str(each)
        out += bound.build(bound.parse(each.request, body))
        surplus = each.request[len(out) :]
        assert out == each.request[: len(out)], str(each)
        assert surplus in (b"", SURPLUS.get(each.key)), str(each)


def test_responses_decode_and_encode_to_the_same_bytes(frames: list[Frame]) -> None:
    for each in frames:
        if each.response is None:
            continue
        correlation_id, tags, body = parse_response_header(
            memoryview(each.response), each.key, each.version
        )
        bound = response_class(each.key).at(each.version)
        out = bytearray(correlation_id.to_bytes(4, "big", signed=True))
        if response_header_version(each.key, each.version) == 1:
            write_tags(out, tags)
        assert len(out) == body, str(each)
        assert out + bound.build(bound.parse(each.response, body)) == each.response, str(each)


def test_values_are_those_kafkas_own_classes_read(
    frames: list[Frame], decoded: dict[int, dict[str, Any]]
) -> None:
    for each in frames:
        theirs = decoded[each.line]
        if "request_error" in theirs:  # the broker knew the version no more
            continue
        assert request_header_version(each.key, each.version) == theirs["request_header_version"]
        assert response_header_version(each.key, each.version) == theirs["response_header_version"]
        request = request_class(each.key).at(each.version)
        _, body = parse_request_header(memoryview(each.request))
        value = request.parse(each.request, body)
        assert to_json(request.reference, value, "size") == renamed(each, theirs["request"])
        if each.response is not None:
            response = response_class(each.key).at(each.version)
            _, _, body = parse_response_header(memoryview(each.response), each.key, each.version)
            value = response.parse(each.response, body)
            assert to_json(response.reference, value, "size") == theirs["response"], str(each)


def renamed(frame: Frame, theirs: dict[str, Any]) -> dict[str, Any]:
    if frame.key is not ApiKey.TXN_OFFSET_COMMIT:
        return theirs
    return {RENAMED.get(name, name): value for name, value in theirs.items()}


def test_the_frames_are_many(frames: list[Frame]) -> None:
    assert len(frames) == 292  # one asks for a version that never was
    assert len({(each.key, each.version) for each in frames}) > 100
