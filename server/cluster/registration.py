"""How other brokers and clients find this one: its addresses, told to the registry."""

import socket
from typing import TYPE_CHECKING

from barnabas.server.cluster.metadata import BrokerInfo, Endpoint
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.broker_body import Endpoint as RegisteredEndpoint

if TYPE_CHECKING:
    from barnabas.server.broker import Broker

ANY_ADDRESS = ("", "0.0.0.0", "::")


async def register(broker: "Broker") -> None:
    """Join the cluster under the addresses that were bound or are advertised."""
    endpoints, rack = _advertised(broker), broker.config.broker_rack
    broker.metadata.brokers[broker.broker_id] = BrokerInfo(broker.broker_id, endpoints, rack)
    registered = [RegisteredEndpoint(name, e.host, e.port) for name, e in endpoints.items()]
    await broker.registry.brokers.register(
        BrokerRegistration(broker.broker_id, registered, broker.clock.now_ms(), rack)
    )


def _advertised(broker: "Broker") -> dict[str, Endpoint]:
    """Where clients are sent, by listener; what the settings leave open is what was bound."""
    bound = {listener.name: listener for listener in broker.listeners}
    endpoints = {}
    for endpoint in broker.config.advertised_endpoints:
        listener = bound[endpoint.listener]
        host = endpoint.host or listener.host
        if host in ANY_ADDRESS:
            host = socket.getfqdn()
        endpoints[endpoint.listener] = Endpoint(host, endpoint.port or listener.port)
    return endpoints
