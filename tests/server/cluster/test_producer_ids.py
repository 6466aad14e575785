"""Producer ids: each once, blocks fetched ahead, a registry that fails now and then."""

import asyncio
import gc

import pytest

from barnabas.server.cluster.producer_ids import ProducerIdPool
from barnabas.server.registry.bodies import ProducerIdBlock
from barnabas.server.registry.producer_ids import ProducerIds
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import ConnectionLoss


class CountingIds(ProducerIds):
    """The registry's blocks, counted; fails when told to."""

    asked = 0
    fails = False

    async def next_block(self, broker_id: int) -> ProducerIdBlock:
        self.asked += 1
        await asyncio.sleep(0)
        if self.fails:
            raise ConnectionLoss("no registry")
        return await super().next_block(broker_id)


async def counting_ids() -> CountingIds:
    registry = Registry(Ensemble(lambda: 0).connect())
    await registry.cluster.ensure_paths()
    return CountingIds(registry.store)


def test_ids_are_handed_out_once() -> None:
    async def scenario() -> None:
        ids = await counting_ids()
        one, other = ProducerIdPool(ids, 1), ProducerIdPool(ids, 2)
        taken = [await pool.take() for _ in range(1500) for pool in (one, other)]
        assert len(set(taken)) == 3000

    asyncio.run(scenario())


def test_many_who_wait_share_a_block() -> None:
    async def scenario() -> None:
        ids = await counting_ids()
        pool = ProducerIdPool(ids, 1)
        taken = await asyncio.gather(*(pool.take() for _ in range(800)))
        assert sorted(taken) == list(range(800))
        assert ids.asked == 1
        taken = await asyncio.gather(*(pool.take() for _ in range(1800)))
        assert sorted(taken) == list(range(800, 2600))

    asyncio.run(scenario())


def test_the_next_block_is_fetched_before_it_is_needed() -> None:
    async def scenario() -> None:
        ids = await counting_ids()
        pool = ProducerIdPool(ids, 1)
        for _ in range(899):
            await pool.take()
        assert ids.asked == 1
        await pool.take()
        await asyncio.sleep(0)
        assert ids.asked == 2
        assert [await pool.take() for _ in range(150)] == list(range(900, 1050))
        assert ids.asked == 2

    asyncio.run(scenario())


def test_a_registry_that_fails_is_asked_again() -> None:
    async def scenario() -> None:
        ids = await counting_ids()
        pool = ProducerIdPool(ids, 1)
        ids.fails = True
        for _ in range(2):
            with pytest.raises(ConnectionLoss):
                await pool.take()
        ids.fails = False
        assert await pool.take() == 0

    asyncio.run(scenario())


def test_who_gives_up_waiting_loses_nobody_elses_block() -> None:
    async def scenario() -> None:
        ids = await counting_ids()
        pool = ProducerIdPool(ids, 1)
        impatient = asyncio.create_task(pool.take())
        patient = asyncio.create_task(pool.take())
        await asyncio.sleep(0)
        impatient.cancel()
        assert await patient == 0
        assert ids.asked == 1

    asyncio.run(scenario())


def test_a_block_that_could_not_be_fetched_ahead_is_nobodys_error() -> None:
    async def scenario() -> None:
        complaints: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        ids = await counting_ids()
        pool = ProducerIdPool(ids, 1)
        await pool.take()
        ids.fails = True
        while ids.asked == 1:
            await pool.take()
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        ids.fails = False
        gc.collect()
        taken = [await pool.take() for _ in range(1000)]
        assert len(set(taken)) == 1000 and complaints == []

    asyncio.run(scenario())
