"""A message bound to one version: parse and build, compiled on first use."""

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, cast

from construct import Construct

from barnabas.wire.arrays import Array
from barnabas.wire.compiler import (
    MAX_ELEMENTS,
    Steps,
    compile_build,
    compile_build_in_steps,
    compile_parse,
    compile_parse_in_steps,
    compile_part,
    source_of,
)
from barnabas.wire.errors import ProtocolError, UnsupportedVersion
from barnabas.wire.structs import StructCodec

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from barnabas.wire.schema import Message

M = TypeVar("M")
if TYPE_CHECKING:

    class Base(Construct[M, M]):
        """What mypy knows of a construct; construct itself is not subscriptable."""
else:

    class Base(Construct, Generic[M]):
        """See above."""


Cut = tuple[int, Any]  # (position in the bytes before it, what belongs there)

# A fault in a frame up to this size is looked up once more by the reference path, for its path.
EXPLAINED_BYTES = 65_536


class Bound(Base[M]):
    """`ProduceRequest.at(7)`: the codec of one message at one version.

    `decode(buf, pos)` and `encode(value, out, cuts)` are the compiled functions themselves,
    for the server's inner loop; `parse` and `build` are for everybody else. What is large goes
    by `decode_in_steps` and `encode_in_steps`, generators that let others have their turn.

    A construct among constructs, it stands in others: `Struct("request" / ProduceRequest.at(7))`.
    """

    def __init__(self, message: type[M], version: int, flexible: bool) -> None:
        super().__init__()
        self.message = message
        self.version = version
        self.flexible = flexible
        self.reference = StructCodec(message, version, flexible)
        self.decode: Callable[[memoryview, int], M] = self._first_decode
        self.encode: Callable[[M, bytearray, list[Cut]], None] = self._first_encode
        self._decode_in_steps: Callable[[memoryview, int], Steps[M]] | None = None
        self._encode_in_steps: Callable[[M, bytearray, list[Cut]], Steps[None]] | None = None
        self._part: Callable[[memoryview, int, int], tuple[Any, int, int]] | None = None
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
            most = cast(Any, self.message).MOST_ELEMENTS
            self._decode_in_steps = compile_parse_in_steps(self.reference, most)
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

    @property
    def source(self) -> str:
        """What was generated for `decode` and `encode`, without parts that have functions apart."""
        decode, encode = compile_parse(self.reference), compile_build(self.reference)
        return f"{source_of(decode)}\n\n{source_of(encode)}\n"

    # Inside other constructs.

    def _parse(self, stream: IO[bytes], context: Any, path: str) -> M:
        here = stream.tell()
        if self._part is None:
            self._part = compile_part(self.reference)
        value: M
        value, end, _ = self._part(memoryview(stream.read()), 0, MAX_ELEMENTS)
        stream.seek(here + end)
        return value

    def _build(self, obj: M, stream: IO[bytes], context: Any, path: str) -> Any:
        stream.write(self.build(obj))
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        return self.reference._sizeof(context, path)

    # Alone.

    def parse(self, data: "Buffer", start: int = 0, **contextkw: Any) -> M:
        """The message that begins at `start`. Bytes behind it are ignored, as Kafka does.

        Records are views into `data`. Raises Truncated or Malformed, with a path.
        """
        try:
            return self.decode(memoryview(data), start)
        except ProtocolError:
            rest = memoryview(data)[start:]
            if len(rest) <= EXPLAINED_BYTES:
                self.reference.parse(bytes(rest))
            raise

    def build(self, obj: M, **contextkw: Any) -> bytes:
        """The bytes of `obj`. Raises Malformed or UnsupportedVersion, with a path."""
        out = bytearray()
        try:
            self.encode(obj, out, [])
        except ProtocolError:
            self.reference.build(obj)
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
