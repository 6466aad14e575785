"""A broker's registration and session, and the choice of the store that keeps them."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.membership import NO_BROKER_EPOCH
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry import paths
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import SessionState
from barnabas.server.settings.config import load_config
from barnabas.server.testing.broker import Broker as InProcess
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.cluster.cluster import cluster_of, session_of
from tests.server.raw_client import RawClient
from tests.server.waiting import eventually


def test_a_zookeeper_that_is_not_there_is_named_with_the_settings_that_lead_to_it(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody_accepts:
        address = f"127.0.0.1:{nobody_accepts.getsockname()[1]}"
        settings = {
            "zookeeper.connect": f"{address}/kafka",
            "zookeeper.connection.timeout.ms": "50",
            "log.dirs": str(tmp_path / "data"),
        }

        async def start() -> None:
            await Broker(load_config((), settings)).start()

        said = r"^no session with ZooKeeper in 50 ms \(.*\); see `zookeeper.connect` and [^\n]*$"
        with pytest.raises(StartFailed, match=said):
            asyncio.run(start())


def test_a_broker_without_zookeeper_pays_nothing_for_it() -> None:
    script = (
        "import sys, barnabas; barnabas.Broker().start().stop()\n"
        "assert 'barnabas.server.cluster.registry_store' in sys.modules\n"
        "print(*(name for name in sys.modules if 'kazoo' in name or 'znodes.zookeeper' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []


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


def test_clients_are_not_sent_to_a_name_that_nobody_can_resolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "no-such-host.invalid")
    with InProcess({"listeners": "PLAINTEXT://:0"}) as broker, RawClient(broker.port) as client:
        (found,) = client.call(MetadataRequest(topics=[]), 9).brokers
        assert (found.host, found.port) == ("localhost", broker.port)


def test_clients_are_sent_to_this_machines_name_where_it_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "127.0.0.3")
    with InProcess({"listeners": "PLAINTEXT://:0"}) as broker, RawClient(broker.port) as client:
        (found,) = client.call(MetadataRequest(topics=[]), 9).brokers
        assert (found.host, found.port) == ("127.0.0.3", broker.port)
