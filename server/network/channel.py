"""What a connection has instead of a socket: bytes in, bytes and stretches of files out.

Plain here; one that encrypts, or that a test looks into, derives from `Channel`. A class and no
protocol: a compiled connection reaches its methods as fast as the socket's own, and its
subclasses have to be compiled, too (docs/architecture.md, What is compiled).
"""

import os
import socket
from typing import Final

_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)


class Channel:
    """Never blocks: BlockingIOError says that nothing can be received or sent now.

    Any other OSError says that the peer is gone.
    """

    __slots__ = ()

    def fileno(self) -> int:
        """What the event loop watches."""
        raise NotImplementedError

    def receive_into(self, room: memoryview) -> int:
        """How many bytes were received into `room`; 0 when the peer has closed its side."""
        raise NotImplementedError

    def send(self, data: bytearray | memoryview, has_more: bool) -> int:
        """How many bytes of `data` were sent; with `has_more` they may wait for what follows."""
        raise NotImplementedError

    def send_file(self, fd: int, position: int, count: int) -> int:
        """How many bytes were sent of a file, from `position` on; 0 if it ends before that."""
        raise NotImplementedError

    def close(self) -> None:
        """Close both ways."""
        raise NotImplementedError


class PlainChannel(Channel):
    """Bytes go as they are."""

    __slots__ = ("_fd", "_socket")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._fd = sock.fileno()

    def fileno(self) -> int:
        """The socket's."""
        return self._fd

    def receive_into(self, room: memoryview) -> int:
        """One `recv`."""
        return self._socket.recv_into(room)

    def send(self, data: bytearray | memoryview, has_more: bool) -> int:
        """One `send`; what `has_more` shares a packet with what follows."""
        return self._socket.send(data, _MORE if has_more else 0)

    def send_file(self, fd: int, position: int, count: int) -> int:
        """One `sendfile`: no byte of the file comes into this process."""
        return os.sendfile(self._fd, fd, position, count)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
