"""Request and response headers, and the one place that knows which version goes where.

Request header v0 has no client id (ControlledShutdown v0 only), v1 adds it, v2 adds tagged
fields and comes with flexible request versions; the client id keeps its old int16 prefix in
all of them. Response header v1 (tagged fields) comes with flexible response versions, except
for ApiVersions, whose answer must be readable before anything is negotiated: always v0
(KIP-511).
"""

import struct
from collections.abc import Callable
from typing import Final

from barnabas.wire.api import FLEXIBLE_SINCE, ApiKey
from barnabas.wire.errors import ENDS_INSIDE_FIELD, NOT_UTF8, Malformed, ProtocolError, Truncated
from barnabas.wire.tags import RawTag, skip_tags, write_tags

_HEAD: Final = struct.Struct(">hhi")
_unpack_full: Final[Callable[[memoryview, int], tuple[int, int, int, int]]] = struct.Struct(
    ">hhih"
).unpack_from
_CORRELATION: Final = struct.Struct(">i")

# First version with tagged fields in the header, by API; a version no API reaches: never.
_NEVER: Final = 1 << 15
_FLEXIBLE: Final = {
    int(k): _NEVER if since is None else since for k, since in FLEXIBLE_SINCE.items()
}
_CONTROLLED_SHUTDOWN: Final = int(ApiKey.CONTROLLED_SHUTDOWN)
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)


class RequestHeader:
    """What stands in front of every request."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id", "tags")

    def __init__(
        self,
        api_key: int,
        api_version: int,
        correlation_id: int,
        client_id: str | None,
        tags: tuple[RawTag, ...] = (),
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.tags = tags

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r})"
        )


def request_header_version(api_key: int, api_version: int) -> int:
    """0, 1 or 2. An API nobody knows has header 1, as far as it can be read at all."""
    if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
        return 0
    return 2 if api_version >= _FLEXIBLE.get(api_key, _NEVER) else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """0 or 1."""
    flexible = api_version >= _FLEXIBLE.get(api_key, _NEVER)
    return 1 if flexible and api_key != _API_VERSIONS else 0


def parse_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """The header of a request frame (without its length) and where the body begins."""
    try:
        api_key, api_version, correlation_id, length = _unpack_full(frame, 0)
    except struct.error:
        return _parse_short_header(frame)
    pos = 10
    if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
        return RequestHeader(api_key, api_version, correlation_id, None), 8
    client_id = None
    if length >= 0:
        pos += length
        if pos > len(frame):
            raise Truncated(ENDS_INSIDE_FIELD, "client_id")
        try:
            client_id = str(frame[10:pos], "utf-8")
        except UnicodeDecodeError:
            raise Malformed(NOT_UTF8, "client_id") from None
    if api_version < _FLEXIBLE.get(api_key, _NEVER):
        return RequestHeader(api_key, api_version, correlation_id, client_id), pos
    if pos < len(frame) and frame[pos] == 0:
        return RequestHeader(api_key, api_version, correlation_id, client_id), pos + 1
    try:
        tags, pos = skip_tags(frame, pos)
    except ProtocolError:
        # A version of ApiVersions nobody knows is answered whatever follows (KIP-511).
        if api_key != _API_VERSIONS:
            raise
        return RequestHeader(api_key, api_version, correlation_id, client_id), pos
    return RequestHeader(api_key, api_version, correlation_id, client_id, tags), pos


def _parse_short_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """Eight or nine bytes are a whole header only for ControlledShutdown v0."""
    if len(frame) >= _HEAD.size:
        api_key, api_version, correlation_id = _HEAD.unpack_from(frame, 0)
        if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
            return RequestHeader(api_key, api_version, correlation_id, None), _HEAD.size
    raise Truncated("the bytes end inside the header")


def write_request_header(out: bytearray, header: RequestHeader) -> None:
    """Append the header in the version that its API and version call for."""
    out += _HEAD.pack(header.api_key, header.api_version, header.correlation_id)
    version = request_header_version(header.api_key, header.api_version)
    if version == 0:
        return
    if header.client_id is None:
        out += b"\xff\xff"
    else:
        client_id = header.client_id.encode()
        out += len(client_id).to_bytes(2, "big")
        out += client_id
    if version == 2:
        write_tags(out, header.tags)


def parse_response_header(
    frame: memoryview, api_key: int, api_version: int
) -> tuple[int, tuple[RawTag, ...], int]:
    """Correlation id, tagged fields, and where the body begins."""
    try:
        (correlation_id,) = _CORRELATION.unpack_from(frame, 0)
    except struct.error:
        raise Truncated("the bytes end inside the header") from None
    if response_header_version(api_key, api_version) == 0:
        return correlation_id, (), 4
    tags, pos = skip_tags(frame, 4)
    return correlation_id, tags, pos
