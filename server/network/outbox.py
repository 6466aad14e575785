"""What a connection still has to send: bytes, and slices of files that go by `sendfile`.

Small responses are gathered and leave in one `send`, what they have of files included; the head
of a large one is sent with more announced, so that it shares a packet with the file slice that
follows. That slice is never read into memory; a stretch of it that is not in the page cache stops
the sending (`cold`) until somebody has read it.
"""

from collections import deque
from typing import Final, NamedTuple

from barnabas.server.network.channel import Channel
from barnabas.server.network.read_ahead import FileRange, is_cached, read_cached
from barnabas.wire.connection import Encoded

# Heads up to this size are gathered before a send.
GATHER_BYTES: Final = 64 * 1024
# An answer up to this size, files included, is put together in memory: one call instead of three.
SMALL_BYTES: Final = 8 * 1024
# One flush sends about this much of files, then other connections get their turn: a reader that
# keeps pace would have the loop to itself until its answer ends, 22 ms for 50 MB.
FAIR_FILE_BYTES: Final = 1024 * 1024


class _FilePart:
    """A file slice on its way out. It keeps the slice, and with it the file, open.

    Up to `cached_to`, a position in the file, it may be sent without looking.
    """

    __slots__ = ("cached_to", "left_bytes", "position", "source")

    def __init__(self, source: FileRange) -> None:
        self.source = source
        self.position = source.position
        self.cached_to = self.position
        self.left_bytes = len(source)

    def reach_bytes(self) -> int:
        """How much may be sent now without waiting for a disk; 0 if that has to be read first."""
        if self.cached_to == self.position:
            count = min(self.left_bytes, FAIR_FILE_BYTES)
            if not is_cached(self.source.fd, self.position, count):
                return 0
            self.cached_to += count
        return self.cached_to - self.position


class Cold(NamedTuple):
    """A stretch of a file that has to be read before it is sent."""

    source: FileRange
    position: int
    size: int


class Outbox:
    """Unsent responses of one connection, in order."""

    __slots__ = ("_channel", "_parts", "cold", "unsent_bytes")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._parts: deque[bytearray | memoryview | _FilePart] = deque()
        self.unsent_bytes = 0
        # What the next part to send waits for: `warmed` is called when it has been read.
        self.cold: Cold | None = None

    def __bool__(self) -> bool:
        return bool(self._parts)

    def put(self, encoded: Encoded) -> None:
        """Queue a response frame."""
        if not encoded.cuts:
            self._put_bytes(encoded.head)
            return
        size = encoded.size_bytes
        if size <= SMALL_BYTES and (whole := _read_whole(encoded, size)) is not None:
            self._put_bytes(whole)
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

        False: the socket is full, it is the turn of others, or what comes next is `cold`.
        Raises OSError when the peer is gone.
        """
        parts, fair_bytes = self._parts, FAIR_FILE_BYTES
        try:
            while parts:
                part = parts[0]
                if isinstance(part, _FilePart):
                    sent = self._send_file(part)
                    fair_bytes -= sent
                    if not sent or fair_bytes <= 0:
                        return not parts
                    continue
                sent = self._channel.send(part, len(parts) > 1)
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
        self.cold = None

    def warmed(self) -> None:
        """What was cold has been read: it is sent now, whatever has become of its pages."""
        part = self._parts[0]
        if self.cold is not None and isinstance(part, _FilePart):
            part.cached_to = self.cold.position + self.cold.size
        self.cold = None

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
            if len(source):
                self._parts.append(_FilePart(source))
                self.unsent_bytes += len(source)
        else:
            self._put_bytes(memoryview(source))  # type: ignore[arg-type]  # any buffer will do

    def _send_file(self, part: _FilePart) -> int:
        """Send some of a file; 0 if it is cold."""
        count = part.reach_bytes()
        if not count:
            self.cold = Cold(part.source, part.position, min(part.left_bytes, FAIR_FILE_BYTES))
            return 0
        sent = self._channel.send_file(part.source.fd, part.position, count)
        if sent == 0:
            raise OSError("a file slice is shorter than its size")
        self.unsent_bytes -= sent
        part.position += sent
        part.left_bytes -= sent
        if not part.left_bytes:
            self._parts.popleft()
        return sent


def _read_whole(encoded: Encoded, size: int) -> bytearray | None:
    """All of a small answer if it is in memory.

    None: what it has of files is sent from there, which waits for the disk, or tells that it fails.
    """
    head, whole = encoded.head, bytearray(size)
    view = memoryview(whole)
    at = last = 0
    for cut, source in encoded.cuts:
        end = at + cut - last
        view[at:end] = head[last:cut]
        at, last = end + len(source), cut
        if hasattr(source, "fd"):
            if not read_cached(source.fd, view[end:at], source.position):
                return None
        else:
            view[end:at] = source.read()
    view[at:] = head[last:]
    return whole
