"""Frames: a four-byte big-endian length, then that many bytes.

`FrameBuffer` is one growable buffer: a socket reads into `writable()`, `received` says how
much came, and `next_frame` hands out whole frames as views that stay good until the next
call of `writable`. While the request of the last frame is still in progress a socket reads into
`writable_behind()`, which leaves that frame as it is, for as long as somebody holds its view.
Unread bytes move only when there is no room behind them.

A frame of which a megabyte has come gets a mapping of its own size: pages that the kernel adds
when bytes arrive in them. A bytearray is filled with zeros and copied whenever it doubles, which
for 55 MB holds everybody up for 30 ms. For the same reason a read takes a megabyte at the most.
"""

import struct
from collections.abc import Callable
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

from barnabas.wire.errors import Malformed, ProtocolError

_LENGTH: Final = struct.Struct(">i")
_unpack_length: Final[Callable[[bytearray | mmap, int], tuple[int]]] = _LENGTH.unpack_from
LENGTH_BYTES: Final = 4
DEFAULT_MAX_FRAME_BYTES = 100 * 1024 * 1024  # socket.request.max.bytes
FIRST_BYTES: Final = 16 * 1024
READ_AHEAD_BYTES: Final = 128 * 1024
MAPPED_FROM_BYTES: Final = 1 << 20
READ_AT_ONCE_BYTES: Final = 1 << 20
TLS_HANDSHAKE: Final = b"\x16\x03"
HTTP_METHODS: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN")


class FrameTooLarge(Malformed):
    """A length above the limit, which nobody would want to receive."""


class FrameBuffer:
    """Received bytes, cut into frames."""

    __slots__ = ("_buffer", "_end", "_front", "_start", "_view", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer: bytearray | mmap = bytearray(FIRST_BYTES)
        self._view = memoryview(self._buffer)
        # What the next read may fill while nothing waits.
        self._front = self._view
        self._start = 0
        self._end = 0

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def capacity_bytes(self) -> int:
        """How much memory the buffer holds."""
        return len(self._buffer)

    def writable(self) -> memoryview:
        """Room for the next read, up to a megabyte: for the frame that has begun, and others."""
        if self._start == self._end:
            self._start = self._end = 0
            if self._front:
                return self._front
        wanted = self._missing_bytes()
        if len(self._buffer) - self._end < wanted:
            self._make_room(wanted)
        return self._view[self._end : self._end + READ_AT_ONCE_BYTES]

    def writable_behind(self) -> memoryview:
        """The same, while the last frame is in use: without room behind it, in a new buffer."""
        wanted = self._missing_bytes()
        if len(self._buffer) - self._end < wanted:
            if self._start:  # a frame lies before what is waiting
                self._leave_buffer()
            self._make_room(wanted)
        return self._view[self._end : self._end + READ_AT_ONCE_BYTES]

    def received(self, count: int) -> None:
        """`count` bytes have been put into what `writable` gave."""
        self._end += count

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its length, or None until more has come.

        Raises FrameTooLarge, or Malformed for a negative length; the stream is lost then.
        """
        start = self._start
        if self._end - start < LENGTH_BYTES:
            return None
        (length,) = _unpack_length(self._buffer, start)
        if length < 0 or length > self.max_frame_bytes:
            raise self._bad_length(length)
        stop = start + LENGTH_BYTES + length
        if stop > self._end:
            return None
        self._start = stop
        return self._view[start + LENGTH_BYTES : stop]

    def has_frame(self) -> bool:
        """Whether a whole frame waits. A bad length counts: asking for it will raise."""
        waiting = self._end - self._start
        if waiting < LENGTH_BYTES:
            return False
        (length,) = _unpack_length(self._buffer, self._start)
        return waiting - LENGTH_BYTES >= length or length > self.max_frame_bytes

    def begun_bytes(self) -> int:
        """The size of the frame that waits or has begun to come, its length included.

        0 until its length is here, and for a length that `next_frame` refuses.
        """
        if self._end - self._start < LENGTH_BYTES:
            return 0
        (length,) = _unpack_length(self._buffer, self._start)
        return LENGTH_BYTES + length if 0 <= length <= self.max_frame_bytes else 0

    def peek_api_key(self) -> int | None:
        """The API key of the frame behind the present one, as soon as its six bytes are here."""
        if self._end - self._start < LENGTH_BYTES + 2:
            return None
        at = self._start + LENGTH_BYTES
        return int.from_bytes(self._buffer[at : at + 2], "big", signed=True)

    def clear(self) -> None:
        """Give the memory back."""
        self._view = self._front = memoryview(b"")
        self._buffer = bytearray()
        self._start = self._end = 0

    def _bad_length(self, length: int) -> ProtocolError:
        if length < 0:
            return Malformed(f"a frame of {length} bytes")
        return FrameTooLarge(
            f"a frame of {length} bytes, socket.request.max.bytes allows {self.max_frame_bytes}"
            f"{_other_protocol(length)}"
        )

    def _missing_bytes(self) -> int:
        """How many bytes the next read should have room for."""
        waiting = self._end - self._start
        if waiting < LENGTH_BYTES:
            return FIRST_BYTES // 4
        (length,) = _unpack_length(self._buffer, self._start)
        if length < 0 or length > self.max_frame_bytes:
            return FIRST_BYTES // 4
        missing = LENGTH_BYTES + length - waiting
        return max(FIRST_BYTES // 4, missing)

    def _leave_buffer(self) -> None:
        """What waits moves into a new buffer; the old one is that of who holds views of it."""
        self._move_to(bytearray(max(self._end - self._start, FIRST_BYTES)))

    def _make_room(self, wanted: int) -> None:
        """Move what is waiting to the front; grow, by doubling, if the frame needs it.

        A length alone is no reason to take memory: a bytearray at most doubles ahead of what
        has really arrived, and a mapping costs what has arrived in it, so a client that announces
        100 MB and sends ten bytes costs nothing. A client that fills the buffer has more to send,
        so up to READ_AHEAD_BYTES it grows for that, too: several frames then come by one read.
        """
        needed = self._end - self._start + wanted
        size = len(self._buffer)
        if not self._start and self._end < size:
            return  # what there is has not been filled
        if needed > size or self._end == size < READ_AHEAD_BYTES:
            mapped = _mapped(needed) if needed > size >= MAPPED_FROM_BYTES else None
            if mapped is not None:
                return self._move_to(mapped)
            size = min(max(2 * size, FIRST_BYTES), max(needed, READ_AHEAD_BYTES))
        elif needed < FIRST_BYTES < size // 8:
            size = FIRST_BYTES
        self._move_to(bytearray(size) if size != len(self._buffer) else self._buffer)

    def _move_to(self, buffer: bytearray | mmap) -> None:
        """Go on at the front of a buffer, which may be the present one."""
        waiting = self._end - self._start
        view = self._view if buffer is self._buffer else memoryview(buffer)
        view[:waiting] = self._view[self._start : self._end]
        if buffer is not self._buffer:
            self._buffer, self._view, self._front = buffer, view, view[:READ_AT_ONCE_BYTES]
        self._start, self._end = 0, waiting


def _mapped(size: int) -> mmap | None:
    """Memory that is taken page by page as it is written; None where the system has no room."""
    try:
        return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    except OSError:
        return None


def frame(body: bytes | bytearray | memoryview) -> bytes:
    """`body` behind its length."""
    return _LENGTH.pack(len(body)) + bytes(body)


def _other_protocol(length: int) -> str:
    """What begins with these four bytes, if it is something that clients send by mistake."""
    start = length.to_bytes(LENGTH_BYTES, "big")
    if start[:2] == TLS_HANDSHAKE:
        return "; it looks like TLS, which this listener does not speak: see security.protocol"
    if start in HTTP_METHODS:
        return "; it looks like HTTP"
    return ""
