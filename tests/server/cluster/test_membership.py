"""A broker's registration and session, and the choice of the store that keeps them."""

import asyncio
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.membership import NO_BROKER_EPOCH
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry import paths
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import SessionState
from barnabas.server.settings.config import load_config
from tests.server.cluster.cluster import cluster_of, session_of
from tests.server.waiting import eventually


def test_a_store_that_is_not_supported_is_refused_before_anything_is_touched(
    tmp_path: Path,
) -> None:
    settings = {"zookeeper.connect": "127.0.0.1:2181", "log.dirs": str(tmp_path / "data")}

    async def start() -> None:
        await Broker(load_config((), settings)).start()

    with pytest.raises(StartFailed, match=r"^Apache ZooKeeper is not supported yet; [^\n]*$"):
        asyncio.run(start())
    assert not (tmp_path / "data").exists()


@pytest.mark.broker_says("the session with the registry has ended")
def test_the_broker_epoch_is_that_of_the_registration_in_force(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            broker = cluster.brokers[0]
            store, membership = broker.registry.store, broker.membership

            async def czxid() -> int:
                stat = await store.exists(paths.broker(0))
                return NO_BROKER_EPOCH if stat is None else stat.czxid

            first = membership.broker_epoch
            assert first == await czxid()
            cluster.ensemble.end_session(store.session_id)
            assert membership.broker_epoch == NO_BROKER_EPOCH
            await eventually(lambda: membership.broker_epoch != NO_BROKER_EPOCH)
            assert membership.broker_epoch == await czxid() > first

    asyncio.run(scene())


def test_a_connection_that_is_found_again_keeps_session_and_epoch(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            broker = cluster.brokers[0]
            membership, epoch = broker.membership, broker.membership.broker_epoch
            assert membership.session is SessionState.ESTABLISHED
            session_of(broker).suspend()
            assert membership.session is SessionState.SUSPENDED
            session_of(broker).resume()
            assert membership.session is SessionState.ESTABLISHED
            assert (membership.broker_epoch, broker.controller.is_active) == (epoch, True)

    asyncio.run(scene())


@pytest.mark.broker_says("the session with the registry has ended")
def test_settings_that_others_change_are_heard_of_in_the_next_session_too(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            broker = cluster.brokers[0]
            other = Registry(cluster.ensemble.connect())
            cluster.ensemble.end_session(broker.registry.store.session_id)

            async def set_most_bytes(wanted: int) -> None:
                await other.configs.write("brokers/0", {"message.max.bytes": str(wanted)})
                await other.configs.notify("brokers/0")
                await eventually(lambda: broker.config.message_max_bytes == wanted)

            await set_most_bytes(1234)
            await set_most_bytes(1235)

    asyncio.run(scene())


def test_a_killed_broker_is_a_member_until_its_session_has_timed_out(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            survivor = cluster.brokers[0]
            await cluster.crash(cluster.brokers[1])
            assert await survivor.registry.brokers.ids() == [0, 1]
            cluster.let_sessions_expire()
            assert await survivor.registry.brokers.ids() == [0]

    asyncio.run(scene())
