"""The other brokers of a cluster by their id, for one purpose.

Who asks for another purpose has connections of its own: a broker serves one request of a connection
at a time, and a long one holds up those behind it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered
from barnabas.server.peers.dialing import Dial
from barnabas.server.peers.peer import Address, Peer
from barnabas.wire.schema import Message

Find = Callable[[int], Address | None]
"""Where a broker listens for others; None while it is not live."""


class Peers:
    """Those that have been asked something."""

    def __init__(
        self, find: Find, client_id: str, clock: Clock, timeout_ms: Callable[[], float], dial: Dial
    ) -> None:
        """`timeout_ms` is how long an answer may take (`request.timeout.ms`); `dial` is the
        broker's.
        """
        self._find = find
        self._client_id = client_id
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._dial = dial
        self._peers: dict[int, Peer] = {}

    async def send(self, broker_id: int, request: Message, versions: tuple[int, int]) -> Any:
        """A broker's answer, at the latest of these versions that it serves.

        Raises Unanswered whenever there is none to be had now, and Unsupported, which is one, if
        the broker serves none of the versions. A request may then have been carried out or not.
        """
        address = self._find(broker_id)
        peer = self._peers.get(broker_id)
        if address is None:
            if peer is not None:
                del self._peers[broker_id]
                peer.close("the broker has left the cluster")
            raise Unanswered(f"broker {broker_id} is not live")
        if peer is None:
            connect = partial(self._dial, broker_id)
            peer = Peer(self._client_id, self._clock, self._timeout_ms(), connect)
            self._peers[broker_id] = peer
        return await peer.send(address, request, versions)

    def close(self) -> None:
        """End every connection."""
        for peer in self._peers.values():
            peer.close("this broker is stopping")
        self._peers.clear()
