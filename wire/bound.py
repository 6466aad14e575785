"""A message bound to one version: parse and build, compiled on first use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from barnabas.wire.arrays import Array
from barnabas.wire.compiler import (
    Steps,
    compile_build,
    compile_build_in_steps,
    compile_parse,
    compile_parse_in_steps,
)
from barnabas.wire.errors import ProtocolError, UnsupportedVersion
from barnabas.wire.structs import StructCodec

if TYPE_CHECKING:
    from barnabas.wire.schema import Message

M = TypeVar("M")
Cut = tuple[int, Any]  # (position in the bytes before it, what belongs there)

# A fault in a frame up to this size is looked up once more by the reference path, for its path.
EXPLAINED_BYTES = 65_536


class Bound(Generic[M]):
    """`ProduceRequest.at(7)`: the codec of one message at one version.

    `decode(buf, pos)` and `encode(value, out, cuts)` are the compiled functions themselves,
    for the server's inner loop; `parse` and `build` are for everybody else. What is large goes
    by `decode_in_steps` and `encode_in_steps`, generators that let others have their turn.
    """

    __slots__ = (
        "_decode_in_steps",
        "_elements",
        "_encode_in_steps",
        "decode",
        "encode",
        "flexible",
        "message",
        "reference",
        "version",
    )

    def __init__(self, message: type[M], version: int, flexible: bool) -> None:
        self.message = message
        self.version = version
        self.flexible = flexible
        self.reference = StructCodec(message, version, flexible)
        self.decode: Callable[[memoryview, int], M] = self._first_decode
        self.encode: Callable[[M, bytearray, list[Cut]], None] = self._first_encode
        self._decode_in_steps: Callable[[memoryview, int], Steps[M]] | None = None
        self._encode_in_steps: Callable[[M, bytearray, list[Cut]], Steps[None]] | None = None
        self._elements: dict[str, Callable[[Any, bytearray, list[Cut]], Steps[None]]] = {}

    def _first_decode(self, buf: memoryview, pos: int) -> M:
        if self.decode == self._first_decode:  # who kept this method calls it again
            self.decode = compile_parse(self.reference)
        return self.decode(buf, pos)

    def _first_encode(self, value: M, out: bytearray, cuts: list[Cut]) -> None:
        if self.encode == self._first_encode:
            self.encode = compile_build(self.reference)
        self.encode(value, out, cuts)

    def decode_in_steps(self, buf: memoryview, pos: int) -> Steps[M]:
        """`decode` as a generator: the message is what it returns."""
        if self._decode_in_steps is None:
            self._decode_in_steps = compile_parse_in_steps(self.reference)
        return self._decode_in_steps(buf, pos)

    def encode_in_steps(self, value: M, out: bytearray, cuts: list[Cut]) -> Steps[None]:
        """`encode` as a generator; `out` is whole when it has ended."""
        if self._encode_in_steps is None:
            self._encode_in_steps = compile_build_in_steps(self.reference)
        return self._encode_in_steps(value, out, cuts)

    def build_element(self, array: str, element: Any) -> Steps[bytes]:
        """The bytes of one element of an array of the message, in steps: see `Array.built`."""
        encode = self._elements.get(array)
        if encode is None:
            (codec,) = (codec for field, codec in self.reference.present if field.name == array)
            encode = compile_build_in_steps(cast(Array, codec).element)
            self._elements[array] = encode
        out = bytearray()
        yield from encode(element, out, [])
        return bytes(out)

    def parse(self, data: bytes | bytearray | memoryview, start: int = 0) -> M:
        """The message that begins at `start`. Bytes behind it are ignored, as Kafka does.

        Records are views into `data`. Raises Truncated or Malformed, with a path.
        """
        try:
            return self.decode(memoryview(data), start)
        except ProtocolError:
            if len(data) - start <= EXPLAINED_BYTES:
                self.reference.parse(bytes(data[start:]))
            raise

    def build(self, value: M) -> bytes:
        """The bytes of `value`. Raises Malformed or UnsupportedVersion, with a path."""
        out = bytearray()
        try:
            self.encode(value, out, [])
        except ProtocolError:
            self.reference.build(value)
            raise
        return bytes(out)


def bind(message: "type[Message]", version: int) -> Bound[Any]:
    """The codec of `message` at `version`, made on first use. Raises UnsupportedVersion."""
    if version not in message.VERSIONS:
        first, last = message.VERSIONS[0], message.VERSIONS[-1]
        raise UnsupportedVersion(
            f"{message.__name__} has versions {first} to {last}, not {version}"
        )
    since = message.FLEXIBLE_SINCE
    bound = Bound(cast(Any, message), version, since is not None and version >= since)
    message.BOUND[version] = bound
    return bound
