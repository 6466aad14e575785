"""Ports of a broker that is down: refused to clients, and given to nobody else meanwhile.

A socket that is bound and does not listen does that. The next broker binds beside it, as Linux
lets sockets with SO_REUSEADDR do as long as none of them listens. Other systems do not: there a
port is not held.
"""

import platform
import socket
from collections.abc import Iterable
from contextlib import suppress

from barnabas.server.network.listening import EVERY_INTERFACE
from barnabas.server.settings.endpoints import Endpoint


class HeldPorts:
    """The ports that are held now."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def hold(self, endpoints: Iterable[Endpoint]) -> None:
        """Hold the ports of these; one that somebody else has taken already is not."""
        if platform.system() != "Linux":
            return
        for endpoint in endpoints:
            with suppress(OSError):
                self._hold(endpoint.host or EVERY_INTERFACE, endpoint.port)

    def release(self) -> None:
        """Hold none any more."""
        while self._sockets:
            self._sockets.pop().close()

    def _hold(self, host: str, port: int) -> None:
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
        except OSError:
            sock.close()
            raise
        self._sockets.append(sock)
