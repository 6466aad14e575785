"""Fixed-width codecs and the unsigned varint."""

import struct
from typing import IO, TYPE_CHECKING, Any

from construct import Adapter, Bytes, FormatField, FormatFieldError, StreamError

from barnabas.wire.codec import Codec, Context
from barnabas.wire.compiler import BuildEmitter, ParseEmitter
from barnabas.wire.errors import ENDS_INSIDE_FIELD, Malformed, ProtocolError, Truncated
from barnabas.wire.uuids import Uuid
from barnabas.wire.varint import LONGEST_BYTES, read_uvarint, write_uvarint

if TYPE_CHECKING:
    Format = FormatField[Any, Any]
    SixteenBytes = Adapter[Any, Any, Any, Any]
else:
    Format, SixteenBytes = FormatField, Adapter

# construct asks for `struct`'s other name of a big-endian 32-bit integer.
_FORMATS = {"i": "l", "I": "L"}


class Fixed(Codec, Format):
    """construct's FormatField, big-endian, named by its `struct` character."""

    def __init__(self, char: str) -> None:
        init: Any = FormatField.__init__  # its stub knows a `__new__` only
        init(self, ">", _FORMATS.get(char, char))
        self.char = char
        self.minimum_bytes = self.length

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            return FormatField._parse(self, stream, context, path)
        except StreamError:
            raise Truncated(ENDS_INSIDE_FIELD, path) from None

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            return FormatField._build(self, obj, stream, context, path)
        except FormatFieldError:
            raise Malformed(f"a value its field cannot hold: {obj!r}", path) from None

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        return out.fixed(self.char, target)

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        out.fixed(self.char, value)


class UuidCodec(Codec, SixteenBytes):
    """An adapter of construct's Bytes(16)."""

    def __init__(self) -> None:
        Adapter.__init__(self, Bytes(16))
        self.minimum_bytes = 16

    def _decode(self, obj: bytes, context: Context, path: str) -> Uuid:
        return Uuid(obj)

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            return Adapter._parse(self, stream, context, path)
        except StreamError:
            raise Truncated(ENDS_INSIDE_FIELD, path) from None

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            stream.write(struct.pack("16s", obj))
        except struct.error as error:
            raise Malformed(f"a value its field cannot hold: {error}", path) from None
        return obj

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        out.names["Uuid"] = Uuid
        return f"Uuid({out.fixed('16s')})"

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        out.fixed("16s", value)


class UnsignedVarint(Codec):
    """Seven bits a byte, the lowest first, five bytes at the most."""

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> int:
        here = stream.tell()
        try:
            value, end = read_uvarint(memoryview(stream.read(LONGEST_BYTES)), 0)
        except ProtocolError as error:
            raise type(error)(error.reason, path) from None
        stream.seek(here + end)
        return value

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        out = bytearray()
        write_uvarint(out, obj)
        stream.write(out)
        return obj

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        return out.uvarint()

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        out.uvarint(value)


Boolean = Fixed("?")  # any byte but zero is true
Int8 = Fixed("b")
Int16 = Fixed("h")
Uint16 = Fixed("H")
Int32 = Fixed("i")
Uint32 = Fixed("I")
Int64 = Fixed("q")
Float64 = Fixed("d")
UUID = UuidCodec()
UVARINT = UnsignedVarint()
