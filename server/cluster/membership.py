"""This broker's place in the cluster: its registration, the epoch of that, and its session.

The registration is an ephemeral znode and ends with the session. Its czxid is the broker epoch:
whoever asks something of this broker's former life names an older one. A broker whose session
has ended registers anew, under a new epoch; the controller does it as the first of its events.
"""

import socket
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.server.cluster.features import Ranges
from barnabas.server.cluster.metadata import BrokerInfo, ClusterMetadata, Endpoint
from barnabas.server.core.clock import Clock
from barnabas.server.network.listener import Listener
from barnabas.server.observing.logs import Log
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.broker_body import Endpoint as RegisteredEndpoint
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import SessionState
from barnabas.server.settings.config import BrokerConfig

NO_BROKER_EPOCH: Final = -1
ANY_ADDRESS = ("", "0.0.0.0", "::")


class Membership:
    """One broker as the others of its cluster see it."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        metadata: ClusterMetadata,
        features: Ranges,
        clock: Clock,
        log: Log,
    ) -> None:
        self._brokers = registry.brokers
        self._metadata = metadata
        self._features = features
        self._clock = clock
        self._log = log
        self._info = BrokerInfo(broker_id, {})
        self.broker_epoch = NO_BROKER_EPOCH
        """The czxid of the registration; NO_BROKER_EPOCH while there is none."""
        self.session = registry.store.state
        registry.store.on_session(self._session_changed)

    async def join(self, endpoints: Mapping[str, Endpoint], rack: str | None) -> None:
        """Register where clients and other brokers reach this one. Raises BrokerIdTaken."""
        self._info = BrokerInfo(self._info.broker_id, dict(endpoints), rack)
        self._metadata.brokers[self._info.broker_id] = self._info
        await self.rejoin()

    async def rejoin(self) -> None:
        """Register again what `join` was given. Raises BrokerIdTaken."""
        info = self._info
        registered = [RegisteredEndpoint(n, e.host, e.port) for n, e in info.endpoints.items()]
        self.broker_epoch = await self._brokers.register(
            BrokerRegistration(
                info.broker_id,
                registered,
                self._clock.now_ms(),
                info.rack,
                features=self._features,
            )
        )

    def _session_changed(self, state: SessionState, session_id: int) -> None:
        if state is SessionState.SUSPENDED:
            self._log.warn("the connection to the registry is lost")
        elif state is SessionState.LOST:
            self._log.error("the session with the registry has ended")
            self.broker_epoch = NO_BROKER_EPOCH
        elif state is SessionState.ESTABLISHED:
            self._log.info("a session with the registry is established", session=f"{session_id:x}")
        self.session = state


def advertised(config: BrokerConfig, listeners: Iterable[Listener]) -> dict[str, Endpoint]:
    """Where clients are sent, by listener; what the settings leave open is what was bound."""
    bound = {listener.name: listener for listener in listeners}
    endpoints = {}
    for endpoint in config.advertised_endpoints:
        listener = bound[endpoint.listener]
        host = endpoint.host or listener.host
        if host in ANY_ADDRESS:
            host = socket.getfqdn()
        endpoints[endpoint.listener] = Endpoint(host, endpoint.port or listener.port)
    return endpoints
