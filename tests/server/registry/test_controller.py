"""The election of the controller and the fence around its writes."""

from collections.abc import Awaitable, Callable

import pytest

from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import Watch, Znode
from tests.server.registry.recording import RecordingStore, kafka_wrote
from tests.server.registry.test_cluster import registries
from tests.server.registry.worlds import FIRST_MS, Heard


async def test_one_candidate_wins_and_the_next_raises_the_epoch() -> None:
    one, two = registries(2)
    heard = Heard()
    assert await two.controller.read(heard.watch) is None
    assert await one.controller.elect(1, 17) == ControllerEpoch(1, 1)
    assert await two.controller.elect(2, 18) is None
    active = await two.controller.read(heard.watch)
    assert active is not None
    assert (active.broker_id, active.timestamp_ms) == (1, 17)
    assert active.session_id == one.store.session_id
    await one.store.close()
    assert heard.told() == [("CREATED", "/controller"), ("DELETED", "/controller")]
    assert await two.controller.elect(2, 19) == ControllerEpoch(2, 2)


class SlowStore(EmbeddedStore):
    """A session that is overtaken once: something happens right after it has read."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def get(self, path: str, watch: Watch | None = None) -> Znode:
        znode = await super().get(path, watch)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return znode


async def test_a_candidate_that_read_an_old_epoch_loses() -> None:
    ensemble = Ensemble(lambda: FIRST_MS)
    one, slow = Registry(ensemble.connect()), SlowStore(ensemble, 6_000)
    two = Registry(slow)

    async def another_comes_and_goes() -> None:
        won = await one.controller.elect(1, 1)
        assert won is not None
        await one.controller.resign(won)

    await two.controller.read_epoch()
    slow.meanwhile = another_comes_and_goes
    assert await two.controller.elect(2, 2) is None
    assert await two.controller.read() is None
    assert await two.controller.elect(2, 3) == ControllerEpoch(2, 2)


async def test_an_election_that_was_won_unnoticed_is_recognised() -> None:
    (one,) = registries(1)
    won = await one.controller.elect(1, 17)
    assert await one.controller.elect(1, 18) == won


async def test_resigning_makes_room_and_needs_the_office() -> None:
    one, two = registries(2)
    first = await one.controller.elect(1, 17)
    assert first is not None
    await one.controller.resign(first)
    await one.controller.resign(first)
    second = await two.controller.elect(2, 18)
    assert second is not None
    with pytest.raises(ControllerMoved):
        await one.controller.resign(first)
    assert await two.controller.read() is not None


async def test_the_election_is_kafkas_transaction() -> None:
    expected = [w for w in kafka_wrote("first-broker") if "/controller" in str(w[1])][:2]
    store = RecordingStore()
    await Registry(store).controller.elect(1, 1795823805450)
    assert store.take() == expected
