"""Who lives: what one look at the registrations tells after another."""

import asyncio

import pytest

from barnabas.server.cluster.live_brokers import LiveBrokers
from barnabas.server.cluster.metadata import BrokerInfo, ClusterMetadata, Endpoint
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.broker_body import Endpoint as RegisteredEndpoint
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from tests.server.registry.worlds import Heard


def registration(broker_id: int) -> BrokerRegistration:
    endpoint = RegisteredEndpoint("PLAINTEXT", f"host-{broker_id}", 9092)
    return BrokerRegistration(broker_id, [endpoint], 1, f"rack-{broker_id}")


def test_a_broker_that_restarted_between_two_looks_is_both_gone_and_come() -> None:
    async def scene() -> None:
        ensemble = Ensemble(lambda: 1)
        one, two = Registry(ensemble.connect()), Registry(ensemble.connect())
        await one.cluster.ensure_paths()
        await one.brokers.register(registration(1))
        await two.brokers.register(registration(2))
        heard, metadata = Heard(), ClusterMetadata()
        live = LiveBrokers(1, one.brokers, metadata)
        assert await live.look(heard.watch) == (frozenset(), {1, 2})
        await two.store.close()
        await Registry(ensemble.connect()).brokers.register(registration(2))
        assert heard.told() == [("CHILDREN_CHANGED", "/brokers/ids")]
        assert await live.look(heard.watch) == ({2}, {2})
        assert live.ids == {1, 2}
        assert await live.look(heard.watch) == (frozenset(), frozenset())

    asyncio.run(scene())


@pytest.mark.parametrize("is_registered", [True, False])
def test_clients_are_told_of_all_and_always_of_this_one(is_registered: bool) -> None:
    async def scene() -> None:
        ensemble = Ensemble(lambda: 1)
        one, two = Registry(ensemble.connect()), Registry(ensemble.connect())
        await one.cluster.ensure_paths()
        await two.brokers.register(registration(2))
        if is_registered:
            await one.brokers.register(registration(3))
        own = BrokerInfo(3, {"PLAINTEXT": Endpoint("me", 1)})
        metadata = ClusterMetadata(brokers={3: own})
        live = LiveBrokers(3, one.brokers, metadata)
        await live.look(Heard().watch)
        other = BrokerInfo(2, {"PLAINTEXT": Endpoint("host-2", 9092)}, "rack-2")
        assert list(metadata.brokers.values()) == [other, own]
        assert live.ids == ({2, 3} if is_registered else {2})

    asyncio.run(scene())
