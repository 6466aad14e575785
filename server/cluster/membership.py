"""This broker's place in the cluster: its registration, the epoch of that, and its session.

The registration is an ephemeral znode and ends with the session. Its czxid is the broker epoch:
whoever asks something of this broker's former life names an older one. A broker whose session
has ended registers anew, under a new epoch; the controller does it as the first of its events.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.server.cluster.features import Ranges
from barnabas.server.cluster.metadata import BrokerInfo, ClusterMetadata, Endpoint
from barnabas.server.core.addresses import LOCAL, address
from barnabas.server.core.clock import Clock
from barnabas.server.core.startup import StartFailed
from barnabas.server.network.listener import Listener
from barnabas.server.observing.logs import Log
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.broker_body import Endpoint as RegisteredEndpoint
from barnabas.server.registry.errors import BrokerIdTaken
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import (
    ConnectionLoss,
    SessionExpired,
    SessionState,
    ZnodeError,
)
from barnabas.server.settings.config import BrokerConfig

NO_BROKER_EPOCH: Final = -1
JOIN_AGAIN_S: Final = 0.25  # by ZooKeeper's time, not by the broker's clock


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

    async def join(
        self, endpoints: Mapping[str, Endpoint], rack: str | None, *, waits: bool = False
    ) -> None:
        """Register where clients and other brokers reach this one.

        A broker that was killed finds its own registration until the old session times out;
        `waits` says whether it waits for that. Raises BrokerIdTaken if it does not; StartFailed
        if another broker is registered at one of the addresses.
        """
        self._info = BrokerInfo(self._info.broker_id, dict(endpoints), rack)
        self._metadata.brokers[self._info.broker_id] = self._info
        if waits:
            await self._wait_to_join()
        else:
            await self.rejoin()

    async def rejoin(self) -> None:
        """Register what `join` was given, unless that is so. Raises BrokerIdTaken."""
        if self.broker_epoch != NO_BROKER_EPOCH:
            return
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

    async def _wait_to_join(self) -> None:
        said: set[str] = set()
        while True:
            try:
                await self._refuse_taken_endpoints()
                return await self.rejoin()
            except (BrokerIdTaken, ConnectionLoss, SessionExpired) as error:
                what = "the broker is not registered yet"
                where: dict[str, object] = {}
                if isinstance(error, BrokerIdTaken):
                    what = (
                        "waiting for the end of an earlier session of this broker, or of another"
                        " one of its id"
                    )
                    where["registered"] = await self._registered()
                if what not in said:
                    said.add(what)
                    self._log.warn(what, why=error, **where)
            await asyncio.sleep(JOIN_AGAIN_S)

    async def _refuse_taken_endpoints(self) -> None:
        """Two brokers at one address would take each other's clients. Raises StartFailed."""
        mine = {(each.host, each.port) for each in self._info.endpoints.values()}
        for broker_id, found in (await self._brokers.read_all()).items():
            for each in found.registration.endpoints if broker_id != self._info.broker_id else ():
                if (each.host, each.port) in mine:
                    raise StartFailed(
                        f"{address(each.host, each.port)} is the address of broker"
                        f" {broker_id}, which is registered; see `advertised.listeners`, or wait"
                        " for its session's end"
                    )

    async def _registered(self) -> str:
        """Where the broker of this id says that it is reached."""
        with contextlib.suppress(ZnodeError):
            found = await self._brokers.read(self._info.broker_id)
            if found is not None:
                return ",".join(address(e.host, e.port) for e in found.registration.endpoints)
        return "gone meanwhile"

    def _session_changed(self, state: SessionState, session_id: int) -> None:
        if state is SessionState.SUSPENDED:
            self._log.warn("the connection to the registry is lost")
        elif state is SessionState.LOST:
            self._log.error("the session with the registry has ended")
            self.broker_epoch = NO_BROKER_EPOCH
        elif state is SessionState.ESTABLISHED:
            self._log.info("a session with the registry is established", session=f"{session_id:x}")
        self.session = state


def advertised(
    config: BrokerConfig, listeners: Iterable[Listener], log: Log
) -> dict[str, Endpoint]:
    """Where clients are sent, by listener; what the settings leave open is what was bound."""
    bound = {listener.name: listener for listener in listeners}
    endpoints = {}
    for endpoint in config.advertised_endpoints:
        listener = bound[endpoint.listener]
        host = endpoint.host or listener.host
        if host in LOCAL:
            host = _own_name(endpoint.listener, log)
        endpoints[endpoint.listener] = Endpoint(host, endpoint.port or listener.port)
    return endpoints


def _own_name(listener: str, log: Log) -> str:
    """This machine's name, if there is any chance that clients can do something with it."""
    name = socket.getfqdn()
    try:
        socket.getaddrinfo(name, None)
    except OSError as error:
        log.warn(
            "this machine's name cannot be resolved: clients are sent to localhost; others than"
            " those of this machine need `advertised.listeners`",
            listener=listener, name=name, error=error,
        )  # fmt: skip
        return "localhost"
    return name
