"""Who lives: what one look at the registrations tells after another."""

import asyncio

from barnabas.server.controller.live_brokers import LiveBrokers
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
        heard = Heard()
        live = LiveBrokers(one.brokers)
        assert await live.look(heard.watch) == (frozenset(), {1, 2}, frozenset())
        await two.store.close()
        await Registry(ensemble.connect()).brokers.register(registration(2))
        assert heard.told() == [("CHILDREN_CHANGED", "/brokers/ids")]
        assert await live.look(heard.watch) == ({2}, {2}, frozenset())
        assert live.ids == {1, 2}
        assert await live.look(heard.watch) == (frozenset(), frozenset(), frozenset())

    asyncio.run(scene())


def test_a_broker_that_is_reached_elsewhere_has_moved() -> None:
    async def scene() -> None:
        ensemble = Ensemble(lambda: 1)
        one = Registry(ensemble.connect())
        await one.cluster.ensure_paths()
        await one.brokers.register(registration(1))
        live = LiveBrokers(one.brokers)
        assert (await live.look(Heard().watch)).come == {1}
        await one.brokers.update(registration(1)._replace(rack="another"))
        assert await live.look(Heard().watch) == (frozenset(), frozenset(), {1})
        assert live.by_id[1].registration.rack == "another"

    asyncio.run(scene())
