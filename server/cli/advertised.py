"""Where brokers say that they are: what a client is sent to, once it has reached one of them.

A broker that is reached under one name and advertises another that leads nowhere is the commonest
reason for a client that connects and then hears nothing.
"""

import socket
import time
from collections.abc import Iterable
from typing import Final

from barnabas.server.cli.answering import why_unreachable
from barnabas.server.core.addresses import address
from barnabas.wire.connection import ClientConnection
from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.metadata import MetadataRequest

ASK_S: Final = 2.0
READ_BYTES: Final = 65_536
VERSION: Final = 1  # from Kafka 0.10 on; the first in which no topics need be asked for

Address = tuple[str, int]


def where_nobody_is(bootstrap: Iterable[Address]) -> str | None:
    """Why clients get no further than the bootstrap address, in a sentence; None if they would.

    Waits for two seconds at most for each broker.
    """
    for asked in bootstrap:
        try:
            told = _brokers_of(asked)
        except (OSError, ProtocolError):
            continue
        reasons = {each: why_unreachable(each, ASK_S) for each in told}
        lost = [f"{address(*each)} ({reason})" for each, reason in reasons.items() if reason]
        if lost and len(lost) == len(told):
            return (
                f"the broker at {address(*asked)} sends its clients to {' and '.join(lost)};"
                " its `advertised.listeners` must be an address that they reach"
            )
    return None


def _brokers_of(where: Address) -> list[Address]:
    """The brokers of the cluster as one of them tells. Raises OSError, ProtocolError."""
    wire = ClientConnection("barnabas-command")
    deadline = time.monotonic() + ASK_S
    with socket.create_connection(where, ASK_S) as connection:
        connection.sendall(wire.send(MetadataRequest(topics=[]), VERSION))
        while (found := wire.next_response()) is None:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            data = connection.recv(READ_BYTES)
            if not data:
                raise ConnectionError("closed")
            wire.receive_data(data)
    assert not isinstance(found, bytes)
    return [(broker.host, broker.port) for broker in found[1].brokers]
