"""The brokers that live, as the registry has them: who has come, who has gone.

Every broker follows /brokers/ids for itself until controllers tell brokers of each other
(UpdateMetadata). A broker that went away and came back between two looks has a new epoch, and
counts as both gone and come: what it led, it leads no more.
"""

from typing import NamedTuple

from barnabas.server.cluster.metadata import BrokerInfo, ClusterMetadata, Endpoint
from barnabas.server.registry.brokers import Brokers, RegisteredBroker
from barnabas.server.registry.znodes.store import Watch


class Arrivals(NamedTuple):
    """What differs from the look before; a broker that has restarted is in both."""

    gone: frozenset[int]
    come: frozenset[int]


class LiveBrokers:
    """The registered brokers, as this one last saw them; keeps the metadata's list of them."""

    def __init__(self, broker_id: int, brokers: Brokers, metadata: ClusterMetadata) -> None:
        self._broker_id = broker_id
        self._brokers = brokers
        self._metadata = metadata
        self._epochs: dict[int, int] = {}

    @property
    def ids(self) -> frozenset[int]:
        """Who lived at the last look."""
        return frozenset(self._epochs)

    async def look(self, watch: Watch) -> Arrivals:
        """Read the registrations, and watch them come and go."""
        found = await self._brokers.read_all(watch)
        before, now = self._epochs, {broker_id: b.epoch for broker_id, b in found.items()}
        self._epochs = now
        self._show(found)
        return Arrivals(
            frozenset(each for each, epoch in before.items() if now.get(each) != epoch),
            frozenset(each for each, epoch in now.items() if before.get(each) != epoch),
        )

    def _show(self, found: dict[int, RegisteredBroker]) -> None:
        """Tell clients; of this broker also where its session has just ended."""
        own = self._metadata.brokers.get(self._broker_id)
        infos = {broker_id: _info(broker) for broker_id, broker in found.items()}
        if own is not None:
            infos[self._broker_id] = own
        self._metadata.brokers = dict(sorted(infos.items()))


def _info(broker: RegisteredBroker) -> BrokerInfo:
    registered = broker.registration
    endpoints = {each.listener: Endpoint(each.host, each.port) for each in registered.endpoints}
    return BrokerInfo(registered.broker_id, endpoints, registered.rack)
