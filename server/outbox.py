"""What a connection still has to send: bytes, and slices of files that go by `sendfile`.

Small responses are gathered and leave in one `send`; a head that is followed by a file slice
is sent with MSG_MORE, so that both share a packet. A file slice is never read into memory.
"""

import os
import socket
from collections import deque
from typing import Protocol

from barnabas.wire.connection import Encoded

# Heads up to this size are gathered before a send.
GATHER_BYTES = 64 * 1024
# One sendfile call hands over at most this much, so that other connections get their turn.
SENDFILE_BYTES = 1024 * 1024
MORE = getattr(socket, "MSG_MORE", 0)


class FileRange(Protocol):
    """Part of an open file: what storage's slices are."""

    @property
    def fd(self) -> int: ...
    @property
    def position(self) -> int: ...
    def __len__(self) -> int: ...


class _FilePart:
    """A file slice on its way out. It keeps the slice, and with it the file, open."""

    __slots__ = ("left_bytes", "position", "source")

    def __init__(self, source: FileRange) -> None:
        self.source = source
        self.position = source.position
        self.left_bytes = len(source)


class Outbox:
    """Unsent responses of one connection, in order."""

    __slots__ = ("_parts", "_socket", "unsent_bytes")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._parts: deque[bytearray | memoryview | _FilePart] = deque()
        self.unsent_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def put(self, encoded: Encoded) -> None:
        """Queue a response frame."""
        if not encoded.cuts:
            self._put_bytes(encoded.head)
            return
        head, last = memoryview(encoded.head), 0
        for at, source in encoded.cuts:
            self._put_bytes(head[last:at])
            self._put_source(source)
            last = at
        if last < len(head):
            self._put_bytes(head[last:])

    def put_bytes(self, data: bytes) -> None:
        """Queue bytes that already are a frame."""
        self._put_bytes(memoryview(data))

    def flush(self) -> bool:
        """Send as much as the socket takes; True when nothing is left.

        Raises OSError when the peer is gone.
        """
        parts = self._parts
        try:
            while parts:
                part = parts[0]
                if isinstance(part, _FilePart):
                    self._send_file(part)
                    continue
                sent = self._socket.send(part, MORE if len(parts) > 1 else 0)
                self.unsent_bytes -= sent
                if sent == len(part):
                    parts.popleft()
                else:
                    parts[0] = memoryview(part)[sent:]
        except BlockingIOError:
            return False
        return True

    def clear(self) -> None:
        """Forget everything; slices let go of their files."""
        self._parts.clear()
        self.unsent_bytes = 0

    def _put_bytes(self, data: bytearray | memoryview) -> None:
        self.unsent_bytes += len(data)
        parts = self._parts
        if parts:
            last = parts[-1]
            if isinstance(last, bytearray) and len(last) + len(data) <= GATHER_BYTES:
                last += data
                return
        parts.append(data)

    def _put_source(self, source: FileRange) -> None:
        if hasattr(source, "fd"):
            self._parts.append(_FilePart(source))
            self.unsent_bytes += len(source)
        else:
            self._put_bytes(memoryview(source))  # type: ignore[arg-type]  # any buffer will do

    def _send_file(self, part: _FilePart) -> None:
        count = min(part.left_bytes, SENDFILE_BYTES)
        sent = os.sendfile(self._socket.fileno(), part.source.fd, part.position, count)
        if sent == 0:
            raise OSError("a file slice is shorter than its size")
        self.unsent_bytes -= sent
        part.position += sent
        part.left_bytes -= sent
        if not part.left_bytes:
            self._parts.popleft()
