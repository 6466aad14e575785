"""A channel without a socket: a test puts in what is received, and takes out what was sent."""

import os
from collections import deque

from barnabas.server.network.channel import Channel


class MemoryChannel(Channel):
    """Takes up to `room_bytes` until a test makes room again; None: all there is."""

    __slots__ = ("_received", "calls", "is_closed", "room_bytes", "sent")

    def __init__(self, room_bytes: int | None = None) -> None:
        self.room_bytes = room_bytes
        self.sent = bytearray()
        # The names of what was called and how many bytes that moved.
        self.calls: list[tuple[str, int]] = []
        self.is_closed = False
        self._received: deque[bytes] = deque()

    def put(self, data: bytes) -> None:
        """This is received next, by a call of its own; b"" is the end."""
        self._received.append(data)

    def fileno(self) -> int:
        """None that there is."""
        return -1

    def receive_into(self, room: memoryview) -> int:
        """What was put in first, as much as there is room for."""
        if not self._received:
            raise BlockingIOError
        data = self._received.popleft()
        taken = min(len(data), len(room))
        room[:taken] = data[:taken]
        if taken < len(data):
            self._received.appendleft(data[taken:])
        self.calls.append(("receive", taken))
        return taken

    def send(self, data: bytearray | memoryview, has_more: bool) -> int:
        """As much as there is room for."""
        return self._take("send", bytes(data))

    def send_file(self, fd: int, position: int, count: int) -> int:
        """The same of a file."""
        return self._take("send_file", os.pread(fd, count, position))

    def close(self) -> None:
        """What is sent from now on is nobody's."""
        self.is_closed = True

    def _take(self, name: str, data: bytes) -> int:
        count = len(data)
        if self.room_bytes is not None:
            count = min(count, self.room_bytes)
            if not count:
                raise BlockingIOError
            self.room_bytes -= count
        self.sent += data[:count]
        self.calls.append((name, count))
        return count
