"""Any `construct.Construct` as a field's kind: whoever knows construct extends messages with it.

    stamp: datetime = field(Timestamp(Int64ub, 0.001, 1970), default=EPOCH)

The reference path calls it as construct does; the compiled path emits a call to its parser, over
a view of the frame. What it raises, whatever that is, becomes Malformed or, where bytes are
missing, Truncated: its bytes are a client's.
"""

import io
from typing import IO, Any, cast

from construct import Construct, StreamError

from barnabas.wire.codec import Codec, Context
from barnabas.wire.compiler import BuildEmitter, ParseEmitter
from barnabas.wire.errors import ENDS_INSIDE_FIELD, Malformed, ProtocolError, Truncated


class Foreign(Codec):
    """A construct that is none of ours, at every version the same."""

    def __init__(self, construct: Any) -> None:
        super().__init__()
        self.construct = construct
        try:
            self.minimum_bytes = construct.sizeof()
        except Exception:  # it depends on values, or is nobody's concern before there are any
            self.minimum_bytes = 0

    def _sizeof(self, context: Context, path: str) -> int:
        size: int = self.construct._sizeof(context, path)
        return size

    # Reference path.

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            return self.construct.parse_stream(stream)
        except StreamError:
            raise Truncated(ENDS_INSIDE_FIELD, path) from None
        except ProtocolError:
            raise
        except Exception as error:
            raise Malformed(reason_of(error), path) from None

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        try:
            self.construct.build_stream(obj, stream)
        except ProtocolError:
            raise
        except Exception as error:
            raise Malformed(reason_of(error), path) from None
        return obj

    # Compiled path.

    def read(self, buf: memoryview, pos: int) -> tuple[Any, int]:
        """The value at `pos`, and the position behind it."""
        stream = View(buf, pos)
        value = self._parse(cast(IO[bytes], stream), None, "")
        return value, stream.tell()

    def write(self, out: bytearray, value: Any) -> None:
        """Append `value`."""
        stream = io.BytesIO()
        self._build(value, stream, None, "")
        out += stream.getvalue()

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        out.flush()
        value = target or out.fresh()
        out.line(f"{value}, pos = {out.constant(self.read, 'read')}(buf, pos)")
        return value

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        out.flush()
        out.line(f"{out.constant(self.write, 'write')}({out.target}, {value})")


class View(io.RawIOBase):
    """A frame as a stream that begins at a position: nothing of it is copied but what is read."""

    def __init__(self, buf: memoryview, position: int) -> None:
        super().__init__()
        self._buf = buf
        self._position = position

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = (0, self._position, len(self._buf))[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = len(self._buf) if size < 0 else self._position + size
        data = self._buf[self._position : end].tobytes()
        self._position += len(data)
        return data


def codec_of(kind: Any) -> Codec:
    """The codec that a declaration means by `kind`: a codec, a struct class, any construct."""
    if isinstance(kind, Codec):
        return kind
    if isinstance(kind, Construct):
        return Foreign(kind)
    found: Codec = kind.KIND
    return found


def reason_of(error: Exception) -> str:
    """What went wrong, in one line: construct's own text has a path of its own in front."""
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
