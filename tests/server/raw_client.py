"""A blocking client for tests: one socket, messages of `barnabas.wire`, nothing clever."""

import socket
import struct
from types import TracebackType
from typing import Any, Self

from barnabas.wire.connection import ClientConnection
from barnabas.wire.schema import Message

TIMEOUT_S = 60.0


class RawClient:
    """One connection to a broker."""

    def __init__(self, port: int, client_id: str = "raw", timeout_s: float = TIMEOUT_S) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout_s)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wire = ClientConnection(client_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sock.close()

    def send(self, request: Message, version: int, *, answered: bool = True) -> None:
        """Send a request; its answer is read by `receive`."""
        self.sock.sendall(self.wire.send(request, version, answered=answered))

    def receive(self) -> Any:
        """The next answer. Raises ConnectionError if the broker closes instead."""
        while (found := self.wire.next_response()) is None:
            data = self.sock.recv(1 << 16)
            if not data:
                raise ConnectionError("the broker closed the connection")
            self.wire.receive_data(data)
        assert not isinstance(found, bytes)
        return found[1]

    def call(self, request: Message, version: int) -> Any:
        """Send a request and wait for its answer."""
        self.send(request, version)
        return self.receive()

    def is_closed(self) -> bool:
        """Whether the broker closes the connection without another byte."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True

    def send_frame(self, body: bytes) -> None:
        """Send any bytes as a frame."""
        self.sock.sendall(struct.pack(">i", len(body)) + body)
