"""Who is there: addresses that take connections, and brokers that say something on them."""

import selectors
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Final

from barnabas.server.cli.failures import reason_of
from barnabas.wire.api import ApiKey

PATIENCE_S: Final = 2.0
# ApiVersions v0 without a client's name: what every broker answers without knowing who asks.
QUESTION: Final = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 0, -1)


def why_unreachable(place: tuple[str, int], patience_s: float) -> str:
    """Why nobody takes a connection there; "" where somebody does, who may hang all the same."""
    try:
        socket.create_connection(place, patience_s).close()
    except OSError as error:
        return reason_of(error)
    return ""


def first_to_answer(places: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
    """The place whose broker answers first; None where nobody does, as over TLS."""
    with ExitStack() as sockets, selectors.DefaultSelector() as selector:
        for place in places:
            with suppress(OSError):
                made = sockets.enter_context(socket.create_connection(place, PATIENCE_S))
                made.sendall(QUESTION)
                selector.register(made, selectors.EVENT_READ, place)
        deadline = time.monotonic() + PATIENCE_S
        while selector.get_map() and (left_s := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                with suppress(OSError):
                    if key.fileobj.recv(4):  # type: ignore[union-attr]  # they are sockets
                        found: tuple[str, int] = key.data
                        return found
                selector.unregister(key.fileobj)
    return None
