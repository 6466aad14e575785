"""One request to one broker, as any client of Kafka sends it."""

import socket
from typing import Any, Final

from barnabas.wire.connection import ClientConnection
from barnabas.wire.schema import Message

ANSWER_S: Final = 30.0
READ_BYTES: Final = 65_536


def ask(host: str, port: int, request: Message, version: int) -> Any:
    """The broker's answer. Raises OSError, and ConnectionError if it answers nothing."""
    wire = ClientConnection("barnabas-test")
    with socket.create_connection((host, port), ANSWER_S) as connection:
        connection.sendall(wire.send(request, version))
        while (found := wire.next_response()) is None:
            data = connection.recv(READ_BYTES)
            if not data:
                raise ConnectionError("the broker closed the connection")
            wire.receive_data(data)
    assert not isinstance(found, bytes)
    return found[1]
