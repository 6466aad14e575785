"""Length-prefixed codecs: text, bytes, and records, which stay where they are.

Prefix: int16 for text and int32 for bytes, -1 (any negative number) for null; in flexible
versions an unsigned varint of the length plus one, 0 for null (KIP-482). Text is at most
32,767 bytes of UTF-8 in both forms.
"""

import struct
from collections.abc import Sized
from typing import IO, Any, Self

from barnabas.wire.codec import Codec, Context, take
from barnabas.wire.compiler import BuildEmitter, ParseEmitter
from barnabas.wire.errors import ENDS_INSIDE_FIELD, NOT_UTF8, Malformed, ProtocolError, Truncated
from barnabas.wire.primitives import UVARINT
from barnabas.wire.varint import read_uvarint, write_uvarint

RecordsView = bytes | memoryview  # what a request's records are when read
RecordsSource = Sized  # what a response's may be when written: bytes, or a slice of a file

LONGEST_TEXT_BYTES = 32_767
NULL = "null where none may be"
LONG_TEXT = "text of more than 32,767 bytes"


def read_text_length(buf: memoryview, pos: int) -> tuple[int, int]:
    """The varint in front of a text, its length plus one, and the position behind it."""
    length, pos = read_uvarint(buf, pos)
    if length > LONGEST_TEXT_BYTES + 1:
        raise Malformed(LONG_TEXT)
    return length, pos


def write_text_length(out: bytearray, length: int) -> None:
    """Append the varint in front of a text, its length plus one."""
    if length > LONGEST_TEXT_BYTES + 1:
        raise Malformed(LONG_TEXT)
    write_uvarint(out, length)


def fault_of_length(length: int) -> ProtocolError:
    """What is wrong with a length that is negative or larger than the rest of the frame."""
    return Malformed(NULL) if length < 0 else Truncated(ENDS_INSIDE_FIELD)


class Prefixed(Codec):
    """Bytes behind their length; subclasses say what the bytes become."""

    zero: Any = b""
    prefix = "i"
    longest_bytes = 2**31 - 1

    def __init__(self, flexible: bool = False, nullable: bool = False) -> None:
        super().__init__()
        self.flexible = flexible
        self.nullable = nullable
        self._struct = struct.Struct(">" + self.prefix)
        self.minimum_bytes = 1 if flexible else self._struct.size

    def bind(self, version: int, flexible: bool, nullable: bool) -> Self:
        return type(self)(flexible, nullable)

    @property
    def _is_text(self) -> bool:
        """Bytes too long for an int32 never are in one frame, so that only text is checked."""
        return self.longest_bytes == LONGEST_TEXT_BYTES

    # Reference path.

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        if self.flexible:
            length = UVARINT._parse(stream, context, path) - 1
        else:
            length = self._struct.unpack(take(stream, self._struct.size, path))[0]
        if length < 0:
            if not self.nullable:
                raise Malformed(NULL, path)
            return None
        if self._is_text and length > self.longest_bytes:
            raise Malformed(LONG_TEXT, path)
        return self.from_bytes(take(stream, length, path), path)

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        if obj is None and not self.nullable:
            raise Malformed(NULL, path)
        data = None if obj is None else self.to_bytes(obj, path)
        length = -1 if data is None else len(data)
        if length > self.longest_bytes:
            raise Malformed(LONG_TEXT, path)
        if self.flexible:
            UVARINT._build(length + 1, stream, context, path)
        else:
            stream.write(self._struct.pack(length))
        stream.write(data or b"")
        return obj

    def from_bytes(self, data: bytes, path: str) -> Any:
        """The value that `data` stands for."""
        return data

    def to_bytes(self, value: Any, path: str) -> Any:
        """The bytes that stand for `value`."""
        return value

    # Compiled path.

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        out.names["read_text_length"] = read_text_length
        read_long = "read_text_length" if self._is_text else "read_uvarint"
        length = out.uvarint(read_long) if self.flexible else out.fixed(self.prefix)
        out.flush()
        value = target or out.fresh()
        null = f"{length} == 0" if self.flexible else f"{length} < 0"
        if not self.nullable:
            self._emit_read(out, length, value, f"{null} or ")
            return value
        out.line(f"if {null}: {value} = None")
        with out.block("else:"):
            self._emit_read(out, length, value)
        return value

    def _emit_read(self, out: ParseEmitter, length: str, value: str, null: str = "") -> None:
        out.names["fault_of_length"] = fault_of_length
        if self.flexible:
            length += " - 1"
        out.line(f"stop = pos + {length}")
        out.line(f"if {null}stop > end: raise fault_of_length({length})")
        out.line(f"{value} = {self.source_from_bytes('buf[pos:stop]')}; pos = stop")

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        local = out.fresh("b")
        out.flush()
        out.line(f"{local} = {value}")
        if not self.nullable:
            self._emit_write(out, local)
            return
        null = b"\0" if self.flexible else self._struct.pack(-1)
        out.line(f"if {local} is None: {out.target} += {null!r}")
        with out.block("else:"):
            self._emit_write(out, local)

    def _emit_write(self, out: BuildEmitter, local: str) -> None:
        out.names["write_text_length"] = write_text_length
        encoded = self.source_to_bytes(local)
        if encoded != local:
            out.line(f"{local} = {encoded}")
        length = out.fresh("n")
        out.line(f"{length} = len({local})" + (" + 1" if self.flexible else ""))
        if self.flexible:
            out.uvarint(length, "write_text_length" if self._is_text else "write_uvarint")
        else:
            out.fixed(self.prefix, length)
        out.flush()
        self.emit_append(out, local)

    def emit_append(self, out: BuildEmitter, local: str) -> None:
        """Emit what puts the bytes behind their length."""
        out.line(f"{out.target} += {local}")

    def source_from_bytes(self, data: str) -> str:
        """The expression for the value of the buffer slice `data`."""
        return f"{data}.tobytes()"

    def source_to_bytes(self, value: str) -> str:
        """The expression for the bytes of `value`."""
        return value


class StringCodec(Prefixed):
    """Text in UTF-8."""

    zero = ""
    prefix = "h"
    longest_bytes = LONGEST_TEXT_BYTES

    def from_bytes(self, data: bytes, path: str) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Malformed(NOT_UTF8, path) from None

    def to_bytes(self, value: Any, path: str) -> bytes:
        try:
            encoded: bytes = value.encode()
        except (UnicodeEncodeError, AttributeError) as error:
            raise Malformed(f"a value its field cannot hold: {error}", path) from None
        return encoded

    def source_from_bytes(self, data: str) -> str:
        return f'str({data}, "utf-8")'

    def source_to_bytes(self, value: str) -> str:
        return f"{value}.encode()"


class BytesCodec(Prefixed):
    """Bytes, copied out of the frame."""


class RecordsCodec(Prefixed):
    """Record batches: a view into the frame when read, bytes or a file slice when written.

    A written value that is no bytes, bytearray or memoryview only has to have a length: its
    place goes into `cuts` and the connection sends it from where it is.
    """

    zero = None

    def source_from_bytes(self, data: str) -> str:
        return data

    def emit_append(self, out: BuildEmitter, local: str) -> None:
        out.names["plain"] = (bytes, bytearray, memoryview)
        with out.block(f"if isinstance({local}, plain):"):
            out.line(f"{out.target} += {local}")
        with out.block("else:"):
            out.line(f"cuts.append((len({out.target}), {local}))")


String = StringCodec()
Bytes = BytesCodec()
Records = RecordsCodec()
