"""Registrations of brokers and what becomes of them."""

import pytest

from barnabas.server.registry.broker_body import BrokerRegistration, Endpoint
from barnabas.server.registry.errors import BrokerIdTaken
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import NoNode
from tests.server.registry.recording import RecordingStore, kafka_wrote
from tests.server.registry.test_cluster import registries
from tests.server.registry.worlds import Heard


def broker(broker_id: int, port: int = 9092) -> BrokerRegistration:
    return BrokerRegistration(broker_id, [Endpoint("PLAINTEXT", "127.0.0.1", port)], 1)


async def started(count: int) -> list[Registry]:
    made = registries(count)
    await made[0].cluster.ensure_paths()
    return made


async def test_epochs_rise_with_every_registration() -> None:
    one, two, again = await started(3)
    first = await one.brokers.register(broker(1))
    second = await two.brokers.register(broker(2))
    await one.store.close()
    third = await again.brokers.register(broker(1))
    assert 0 < first < second < third
    found = await two.brokers.read_all()
    assert {broker_id: live.epoch for broker_id, live in found.items()} == {1: third, 2: second}
    assert found[2].registration == broker(2)


async def test_an_id_is_taken_until_its_session_ends() -> None:
    one, two = await started(2)
    epoch = await one.brokers.register(broker(1))
    with pytest.raises(BrokerIdTaken, match="broker id 1 is registered by another session"):
        await two.brokers.register(broker(1))
    assert await one.brokers.register(broker(1)) == epoch
    await one.store.close()
    assert await two.brokers.register(broker(1)) > epoch


async def test_brokers_are_watched_coming_changing_and_going() -> None:
    watcher, one = await started(2)
    heard = Heard()
    assert await watcher.brokers.ids(heard.watch) == []
    await one.brokers.register(broker(10))
    assert await watcher.brokers.ids() == [10]
    assert await watcher.brokers.read(10, heard.watch) is not None
    await one.brokers.update(broker(10, port=9999))
    changed = await watcher.brokers.read(10)
    assert changed is not None
    assert changed.registration.endpoints[0].port == 9999
    await watcher.brokers.read_all(heard.watch)
    await one.store.close()
    assert await watcher.brokers.read(10) is None
    assert heard.told() == [
        ("CHILDREN_CHANGED", "/brokers/ids"),
        ("DATA_CHANGED", "/brokers/ids/10"),
        ("CHILDREN_CHANGED", "/brokers/ids"),
    ]


async def test_a_broker_that_is_not_registered() -> None:
    watcher, one = await started(2)
    heard = Heard()
    assert await watcher.brokers.read(1, heard.watch) is None
    with pytest.raises(NoNode):
        await one.brokers.update(broker(1))
    await one.brokers.register(broker(1))
    assert heard.told() == [("CREATED", "/brokers/ids/1")]


async def test_the_registration_is_kafkas_transaction() -> None:
    (expected,) = [w for w in kafka_wrote("first-broker") if w[1][1] == "/brokers/ids/1"]
    store = RecordingStore()
    registry = Registry(store)
    await registry.cluster.ensure_paths()
    store.take()
    listeners = [("CLIENT", 32211), ("INTERNAL", 32241), ("SASL_PLAINTEXT", 32231)]
    endpoints = [
        Endpoint(name, "127.0.0.1", port, "PLAINTEXT" if name != "SASL_PLAINTEXT" else name)
        for name, port in listeners
    ]
    await registry.brokers.register(BrokerRegistration(1, endpoints, 1795823805110, "rack-1"))
    assert store.take() == [expected]
