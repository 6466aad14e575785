"""Producer id blocks: each handed out once."""

import asyncio

import pytest

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.bodies import ProducerIdBlock
from barnabas.server.registry.errors import ProducerIdsExhausted
from tests.server.registry.test_topics import ruling


async def test_blocks_follow_each_other_whoever_asks() -> None:
    _, (one, two) = await ruling(2)
    assert await one.producer_ids.next_block(1) == ProducerIdBlock(1, 0)
    assert await two.producer_ids.next_block(2) == ProducerIdBlock(2, 1000)
    assert await one.producer_ids.next_block(1) == ProducerIdBlock(1, 2000)
    data, stat = await one.store.get(paths.PRODUCER_ID_BLOCK)
    assert data == b'{"version":1,"broker":1,"block_start":"2000","block_end":"2999"}'
    assert stat.version == 3


async def test_two_that_ask_at_once_get_different_blocks() -> None:
    _, brokers = await ruling(5)
    blocks = await asyncio.gather(
        *(registry.producer_ids.next_block(n) for n, registry in enumerate(brokers))
    )
    assert sorted(block.start for block in blocks) == [0, 1000, 2000, 3000, 4000]


async def test_the_last_block() -> None:
    _, (one,) = await ruling()
    start = 2**63 - 1 - 1000
    body = bodies.encode_producer_id_block(ProducerIdBlock(1, start - 1000))
    await one.store.set(paths.PRODUCER_ID_BLOCK, body)
    assert (await one.producer_ids.next_block(1)).start == start
    with pytest.raises(ProducerIdsExhausted):
        await one.producer_ids.next_block(1)
