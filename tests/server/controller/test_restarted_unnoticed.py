"""A broker that died and came back without a controller's notice may have lost records."""

import asyncio
from pathlib import Path

import pytest

from barnabas.server.replication.fetching.fetchers import Fetchers
from tests.server.cluster.cluster import Cluster, cluster_of, session_of
from tests.server.controller.in_sync import controller_of, create_replicated, state_of
from tests.server.waiting import eventually

LONG_MS = "60000"


async def lose_controller_and(cluster: Cluster, broker_id: int) -> None:
    """Both die; when their sessions are over the one is started again, and is controller."""
    assert controller_of(cluster).broker_id == 0
    session_of(cluster.brokers[2]).suspend()
    await cluster.crash(cluster.brokers[0])
    await cluster.crash(cluster.brokers[broker_id])
    cluster.let_sessions_expire()
    await cluster.start(broker_id)
    assert controller_of(cluster).broker_id == broker_id


@pytest.mark.parametrize(("isr", "leader"), [([1, 0, 2], 2), ([1, 0], 1)])
def test_it_leads_only_if_nobody_else_in_sync_is_there(
    tmp_path: Path, isr: list[int], leader: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            await cluster.start(2, zookeeper_session_timeout_ms=LONG_MS)
            await create_replicated(cluster, "t", [1, 0, 2], isr=isr)
            before = await state_of(cluster, "t")
            assert (before.leader, list(before.isr)) == (1, isr)
            # Nobody catches up, who would be in sync again before the test has looked.
            monkeypatch.setattr(Fetchers, "follow", lambda *_: None)
            await lose_controller_and(cluster, 1)
            await eventually(lambda: cluster.brokers[1].metadata.partition("t", 0) is not None)
            after = (await cluster.brokers[1].registry.partitions.read([("t", 0)]))["t", 0].state
            for broker in list(cluster.brokers.values()):
                await cluster.crash(broker)
        assert (after.leader, list(after.isr)) == (leader, [leader])

    asyncio.run(scene())
