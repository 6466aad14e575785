"""Where the other brokers of the cluster are, for whoever asks them something."""

from __future__ import annotations  # what the types name is imported when it is needed

from typing import TYPE_CHECKING

from barnabas.server.requests.services import Services

if TYPE_CHECKING:
    from barnabas.server.peers.peer import Address
    from barnabas.server.peers.peers import Peers


def peers_of(services: Services, client_id: str) -> Peers:
    """The brokers that clients are told of, for one purpose."""
    from barnabas.server.peers.peer import Address
    from barnabas.server.peers.peers import Peers

    def address_of(broker_id: int) -> Address | None:
        info = services.metadata.brokers.get(broker_id)
        found = info and info.endpoints.get(services.config.inter_broker_listener)
        return Address(found.host, found.port) if found else None

    config = services.config
    return Peers(
        address_of, client_id, services.clock, lambda: config.request_timeout_ms, services.dial
    )
