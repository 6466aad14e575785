"""Fixed-width codecs and the unsigned varint."""

import struct
from typing import IO, Any

from barnabas.wire.codec import Codec, Context, take
from barnabas.wire.compiler import BuildEmitter, ParseEmitter
from barnabas.wire.errors import Malformed
from barnabas.wire.uuids import Uuid
from barnabas.wire.varint import LONGEST_BYTES, write_uvarint


class Fixed(Codec):
    """A big-endian value of fixed width, named by its `struct` character."""

    def __init__(self, char: str) -> None:
        super().__init__()
        self.char = char
        self._struct = struct.Struct(">" + char)
        self.minimum_bytes = self._struct.size

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        return self._struct.unpack(take(stream, self._struct.size, path))[0]

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            stream.write(self._struct.pack(obj))
        except struct.error as error:
            raise Malformed(f"a value its field cannot hold: {error}", path) from None
        return obj

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        return out.fixed(self.char, target)

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        out.fixed(self.char, value)


class UuidCodec(Fixed):
    """Sixteen bytes as they are."""

    def __init__(self) -> None:
        super().__init__("16s")

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Uuid:
        return Uuid(super()._parse(stream, context, path))

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        out.names["Uuid"] = Uuid
        return f"Uuid({out.fixed(self.char)})"


class UnsignedVarint(Codec):
    """Seven bits a byte, the lowest first, five bytes at the most."""

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> int:
        value = 0
        for index in range(LONGEST_BYTES):
            byte = take(stream, 1, path)[0]
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return value
        raise Malformed("a varint longer than five bytes", path)

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
