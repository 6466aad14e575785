"""Both ends of a Kafka conversation, without a socket.

Bytes go in through `writable`/`received` (or `receive_data`), requests or responses come
out; messages go in, bytes come out. A server end answers in any order it likes, as long as
the caller sends in request order; a client end knows by correlation id which message a
response is. After SaslHandshake v0 the frames are bare tokens with no header, in both
directions, until the exchange has ended (KIP-43): `expect_tokens` switches that.
"""

import struct
from typing import Any, Final

from barnabas.wire.api import ApiKey, request_class, response_class
from barnabas.wire.bound import Bound, Cut
from barnabas.wire.compiler import Steps
from barnabas.wire.errors import Malformed
from barnabas.wire.frame import DEFAULT_MAX_FRAME_BYTES, FrameBuffer, frame
from barnabas.wire.header import (
    RequestHeader,
    parse_request_header,
    parse_response_header,
    response_header_version,
    write_request_header,
)
from barnabas.wire.schema import Message

_LENGTH: Final = struct.Struct(">i")
_pack_length: Final = _LENGTH.pack_into
_HEAD = struct.Struct(">ii")
_FLEXIBLE_HEAD = struct.Struct(">iix")


class Request:
    """A request whose header has been read; its body is decoded when asked for."""

    __slots__ = ("body_start", "frame", "header")

    def __init__(self, header: RequestHeader, data: memoryview, body_start: int) -> None:
        self.header = header
        self.frame = data
        self.body_start = body_start

    def message(self) -> Message:
        """The decoded body. Raises ProtocolError."""
        bound = request_class(ApiKey(self.header.api_key)).at(self.header.api_version)
        return bound.parse(self.frame, self.body_start)


class Encoded:
    """A response frame: bytes, and what is sent from elsewhere at given places of them."""

    __slots__ = ("cuts", "head", "size_bytes")

    def __init__(self, head: bytearray, cuts: list[Cut]) -> None:
        self.head = head
        self.cuts = cuts
        # The whole frame, its length included.
        self.size_bytes = len(head)
        for _, source in cuts:
            self.size_bytes += len(source)

    def __bytes__(self) -> bytes:
        """The frame as one piece; cuts are read (`source.read()`)."""
        out, last = bytearray(), 0
        for at, source in self.cuts:
            out += self.head[last:at]
            out += source.read()
            last = at
        return bytes(out + self.head[last:])


class ResponseEncoder:
    """Makes the response frames of one API at one version: their layout follows from these."""

    __slots__ = ("_bound", "_pack_head")

    def __init__(self, api_key: int, api_version: int) -> None:
        flexible = response_header_version(api_key, api_version)
        self._pack_head = (_FLEXIBLE_HEAD if flexible else _HEAD).pack
        self._bound: Bound[Any] = response_class(ApiKey(api_key)).at(api_version)

    def encode(self, correlation_id: int, response: Message) -> Encoded:
        """`response` as a whole frame. Raises Malformed or UnsupportedVersion."""
        out = bytearray(self._pack_head(0, correlation_id))
        cuts: list[Cut] = []
        self._bound.encode(response, out, cuts)
        encoded = Encoded(out, cuts)
        _pack_length(out, 0, encoded.size_bytes - 4)
        return encoded

    def encode_in_steps(self, correlation_id: int, response: Message) -> Steps[Encoded]:
        """The same for a large response, as a generator that lets others have their turn."""
        out = bytearray(self._pack_head(0, correlation_id))
        cuts: list[Cut] = []
        yield from self._bound.encode_in_steps(response, out, cuts)
        encoded = Encoded(out, cuts)
        _pack_length(out, 0, encoded.size_bytes - 4)
        return encoded


def encode_response(
    api_key: int, api_version: int, correlation_id: int, response: Message
) -> Encoded:
    """`response` as a whole frame; whoever makes many keeps a ResponseEncoder."""
    return ResponseEncoder(api_key, api_version).encode(correlation_id, response)


class ServerConnection:
    """The broker's end: requests come out, responses go in."""

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.frames = FrameBuffer(max_frame_bytes)
        self._tokens = False

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take in bytes that were read elsewhere."""
        receive(self.frames, data)

    def expect_tokens(self, expected: bool) -> None:
        """From now on frames are SASL tokens without a header, or no longer."""
        self._tokens = expected

    def next_request(self) -> Request | bytes | None:
        """The next request, a bare SASL token as bytes, or None until more has come."""
        data = self.frames.next_frame()
        if data is None:
            return None
        if self._tokens:
            return bytes(data)
        header, body_start = parse_request_header(data)
        return Request(header, data, body_start)

    def respond(self, header: RequestHeader, response: Message) -> Encoded:
        """The frame that answers the request with that header."""
        return encode_response(header.api_key, header.api_version, header.correlation_id, response)

    @staticmethod
    def respond_token(token: bytes) -> bytes:
        """The frame of a bare SASL token."""
        return frame(token)


class ClientConnection:
    """A client's end: requests go in, responses come out by correlation id."""

    def __init__(
        self, client_id: str | None = None, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    ) -> None:
        self.client_id = client_id
        self.frames = FrameBuffer(max_frame_bytes)
        self._next_correlation_id = 0
        self._sent: dict[int, tuple[ApiKey, int]] = {}
        self._tokens = False

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take in bytes that were read elsewhere."""
        receive(self.frames, data)

    def expect_tokens(self, expected: bool) -> None:
        """From now on frames are SASL tokens without a header, or no longer."""
        self._tokens = expected

    def send(self, request: Message, version: int, *, answered: bool = True) -> bytes:
        """The frame of `request`. `answered=False` for a Produce with acks=0."""
        if request.API_KEY is None:
            raise Malformed(f"{type(request).__name__} is no request")
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        if answered:
            self._sent[correlation_id] = (request.API_KEY, version)
        out = bytearray()
        header = RequestHeader(request.API_KEY, version, correlation_id, self.client_id)
        write_request_header(out, header)
        out += request.at(version).build(request)
        return frame(out)

    def next_response(self) -> tuple[int, Any] | bytes | None:
        """(correlation id, message), a bare SASL token as bytes, or None until more has come.

        ApiVersions is answered in version 0 when the broker does not know the version asked
        for: error 35, which is what the message then says.
        """
        data = self.frames.next_frame()
        if data is None:
            return None
        if self._tokens:
            return bytes(data)
        if len(data) < 4:
            raise Malformed(f"a response of {len(data)} bytes")
        correlation_id = _LENGTH.unpack_from(data, 0)[0]
        if correlation_id not in self._sent:
            raise Malformed(f"a response to request {correlation_id}, which was never sent")
        api_key, version = self._sent.pop(correlation_id)
        _, _, body_start = parse_response_header(data, api_key, version)
        unsupported = bytes(data[body_start : body_start + 2]) == b"\0\x23"
        if api_key is ApiKey.API_VERSIONS and unsupported:
            version = 0
        return correlation_id, response_class(api_key).at(version).parse(data, body_start)


def receive(frames: FrameBuffer, data: bytes | bytearray | memoryview) -> None:
    """Copy `data` into the buffer."""
    source = memoryview(data)
    while source:
        room = frames.writable()
        count = min(len(room), len(source))
        room[:count] = source[:count]
        frames.received(count)
        source = source[count:]
