"""What a broker needs to be told by a controller, and to tell others when it is the controller.

What it would need for other brokers is imported when there is one.
"""

from __future__ import annotations  # what the types name is imported when it is needed

from functools import cached_property
from typing import TYPE_CHECKING

from barnabas.server.controller.channels import Channels
from barnabas.server.observing.logs import Log
from barnabas.server.registry.brokers import RegisteredBroker
from barnabas.server.replication.control import ControlRequests
from barnabas.server.requests.services import Services
from barnabas.wire.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.messages.stop_replica import StopReplicaRequest
from barnabas.wire.messages.update_metadata import UpdateMetadataRequest
from barnabas.wire.schema import Message

if TYPE_CHECKING:
    from barnabas.server.peers.peer import Address
    from barnabas.server.peers.peers import Peers


class ControlParts:
    """One broker's.

    What it says to itself is no request that a test would see or disturb: a broker alone has no
    controller, as far as its clients can tell.
    """

    def __init__(self, services: Services, control: ControlRequests, log: Log) -> None:
        self._services = services
        self._control = control
        self._client_id = str(services.broker_id)
        self._addresses: dict[int, Address] = {}
        self.channels = Channels(
            services.broker_id, self._ask_itself, self._ask, services.clock, log
        )

    def stop(self) -> None:
        """Tell nobody anything more."""
        self.channels.close()
        if "_peers" in self.__dict__:
            self._peers.close()

    async def _ask_itself(self, _: RegisteredBroker, request: Message, version: int) -> Message:
        if isinstance(request, LeaderAndIsrRequest):
            return await self._control.leader_and_isr(request, version)
        if isinstance(request, UpdateMetadataRequest):
            return await self._control.update_metadata(request)
        assert isinstance(request, StopReplicaRequest)
        return await self._control.stop_replicas(request)

    async def _ask(self, broker: RegisteredBroker, request: Message, version: int) -> Message:
        """Another broker's answer, where it is registered now. Raises Unanswered."""
        from barnabas.server.peers.peer import Address

        registered, wanted = broker.registration, self._services.config.inter_broker_listener
        for endpoint in registered.endpoints:
            if endpoint.listener == wanted:
                self._addresses[registered.broker_id] = Address(endpoint.host, endpoint.port)
        versions = (version, version)
        answer: Message = await self._peers.send(registered.broker_id, request, versions)
        return answer

    @cached_property
    def _peers(self) -> Peers:
        from barnabas.server.peers.peers import Peers

        config = self._services.config
        return Peers(
            self._addresses.get, self._client_id, self._services.clock,
            lambda: config.controller_socket_timeout_ms, self._services.dial,
        )  # fmt: skip
