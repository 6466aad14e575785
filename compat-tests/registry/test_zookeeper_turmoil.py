"""What becomes of the ZooKeeper store when ZooKeeper, or the way to it, does not do well."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka_server import free_ports
from zookeeper_worlds import (
    LONG_SESSION_MS,
    PATIENCE_MS,
    TIMEOUT_MS,
    ZookeeperWorld,
    end_session,
    go_on,
    pause,
    zookeeper_server,
)

from barnabas.server.registry.acls import kafka_acl
from barnabas.server.registry.znodes.store import (
    ConnectionLoss,
    Create,
    NodeExists,
    NotPermitted,
    SessionExpired,
    SessionState,
    SetData,
)
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore, open_to_all
from barnabas.server.registry.znodes.zookeeper_session import ZookeeperServers
from barnabas.server.testing.zookeeper import ZookeeperServer
from tests.server.registry.worlds import Heard
from tests.server.waiting import eventually

LONG_S = 30.0


async def connected(
    server: ZookeeperServer,
    chroot: str = "",
    credentials: tuple[str, str] | None = None,
    timeout_ms: int = TIMEOUT_MS,
) -> ZookeeperStore:
    servers = ZookeeperServers([("127.0.0.1", server.port)], timeout_ms, credentials=credentials)
    store = ZookeeperStore(servers, chroot, kafka_acl if credentials else open_to_all)
    await store.connect(PATIENCE_MS)
    return store


def is_established(store: ZookeeperStore) -> Callable[[], bool]:
    return lambda: store.state is SessionState.ESTABLISHED


async def write_pairs(store: ZookeeperStore, name: str, acknowledged: set[int]) -> None:
    """Make two znodes in one transaction, again and again; remember which were acknowledged."""
    for number in range(1_000_000):
        pair = [Create(f"/{name}-{number}-{half}", b"") for half in "ab"]
        try:
            await store.multi(pair)
        except NodeExists:
            raise AssertionError("a transaction was sent twice") from None
        except (ConnectionLoss, SessionExpired):
            await eventually(is_established(store), LONG_S)
            continue
        acknowledged.add(number)


async def require_whole(store: ZookeeperStore, name: str, acknowledged: set[int]) -> None:
    """All that was acknowledged is there, and of no transaction there is a half."""
    names = {each for each in await store.children("/") if each.startswith(f"{name}-")}
    found = [{int(each.split("-")[1]) for each in names if each.endswith(half)} for half in "ab"]
    assert found[0] == found[1] >= acknowledged


async def under_load(store: ZookeeperStore, name: str, harm: Callable[[], object]) -> None:
    """Do harm while a writer and a pipeline are at work; what was acknowledged has happened."""
    acknowledged: set[int] = set()
    writer = asyncio.create_task(write_pairs(store, name, acknowledged))
    await eventually(lambda: len(acknowledged) > 20, LONG_S)
    await asyncio.to_thread(harm)
    await eventually(is_established(store), LONG_S)
    before = len(acknowledged)
    await eventually(lambda: len(acknowledged) > before + 20, LONG_S)
    writer.cancel()
    await asyncio.wait((writer,))
    await require_whole(store, name, acknowledged)


async def test_a_killed_zookeeper_costs_no_session_and_no_acknowledged_write(
    tmp_path: Path,
) -> None:
    with zookeeper_server(tmp_path) as server:
        store = await connected(server, timeout_ms=LONG_SESSION_MS)
        heard, session_id = Heard(), store.session_id
        store.on_session(heard.session)
        await store.create("/mine", ephemeral=True)
        await store.create("/watched")
        await store.get("/watched", heard.watch)
        for name in ("once", "twice"):
            await under_load(store, name, lambda: (server.kill(), server.start()))
            await store.delete("/mine")  # it had lived on
            await store.create("/mine", ephemeral=True)
        await store.set("/watched", b"1")
        await eventually(lambda: bool(heard.events))
        assert heard.told() == [("DATA_CHANGED", "/watched")]
        assert {each for _, each in heard.states} == {session_id}
        assert [state.name for state, _ in heard.states] == ["SUSPENDED", "ESTABLISHED"] * 2
        await store.close()


async def test_a_paused_zookeeper_ends_in_a_session_old_or_new(tmp_path: Path) -> None:
    """Its clock goes on while it stands still: waking up it may find every session too old."""
    with zookeeper_server(tmp_path) as server:
        store = await connected(server)
        heard = Heard()
        store.on_session(heard.session)

        def harm() -> None:
            pause(server)
            deadline = time.monotonic() + LONG_S
            while not heard.states and time.monotonic() < deadline:
                time.sleep(0.01)
            go_on(server)

        await under_load(store, "paused", harm)
        names = [state.name for state, _ in heard.states]
        assert names[0] == "SUSPENDED"
        assert names[-1] == "ESTABLISHED"
        await store.close()


async def test_a_client_that_was_paused_past_the_time_out_begins_a_new_session(
    zookeeper: ZookeeperServer,
) -> None:
    store, other = await connected(zookeeper, "/slow"), await connected(zookeeper, "/slow")
    heard, seen, old = Heard(), Heard(), store.session_id
    store.on_session(heard.session)
    await store.create("/mine", ephemeral=True)
    await store.exists("/later", heard.watch)
    time.sleep(1.5 * TIMEOUT_MS / 1000)  # noqa: ASYNC251 the loop stands still, and its pings
    await eventually(lambda: len(heard.states) >= 3)
    await eventually(is_established(other))
    first = heard.states[:3]
    assert [state.name for state, _ in first] == ["SUSPENDED", "LOST", "ESTABLISHED"]
    assert [session_id == old for _, session_id in first] == [True, True, False]
    assert await other.exists("/mine") is None
    await other.create("/later")
    await store.exists("/last", seen.watch)
    await other.create("/last")
    await eventually(lambda: bool(seen.events))
    assert heard.events == []
    await store.close()
    await other.close()


async def test_a_session_ended_beneath_a_transaction_leaves_it_whole_or_undone(
    zookeeper: ZookeeperServer,
) -> None:
    """Whoever wrote is told that it is not known, and finds out by reading."""
    store = await connected(zookeeper, "/beneath")
    for life in range(5):
        await end_beneath(zookeeper.port, store, life)
    await store.close()


async def end_beneath(port: int, store: ZookeeperStore, life: int) -> None:
    heard, acknowledged = Heard(), set[int]()
    store.on_session(heard.session)
    writer = asyncio.create_task(write_pairs(store, f"life{life}", acknowledged))
    await eventually(lambda: len(acknowledged) > 5)
    pipeline = [[Create(f"/p{life}-{n}-{half}") for half in "ab"] for n in range(500)]
    many = asyncio.create_task(store.pipeline(pipeline))
    await asyncio.sleep(0)
    await end_session(port, store)
    with pytest.raises((ConnectionLoss, SessionExpired)):
        await many
    await eventually(lambda: SessionState.LOST in [state for state, _ in heard.states])
    await eventually(is_established(store))
    writer.cancel()
    await asyncio.wait((writer,))
    await require_whole(store, f"life{life}", acknowledged)
    await require_whole(store, f"p{life}", set())


async def test_a_dead_server_in_the_list_is_passed_over(tmp_path: Path) -> None:
    (dead,) = free_ports(1)
    with zookeeper_server(tmp_path) as server:
        addresses = [("127.0.0.1", dead), ("127.0.0.1", server.port)]
        for _ in range(2):
            store = ZookeeperStore(ZookeeperServers(addresses, LONG_SESSION_MS))
            await store.connect(PATIENCE_MS)
            await store.set("/", b"")
            server.kill()
            server.start()
            await eventually(is_established(store), LONG_S)
            await store.close()


async def test_nobody_there_is_said_with_the_last_address_and_reason() -> None:
    (dead,) = free_ports(1)
    store = ZookeeperStore(ZookeeperServers([("127.0.0.1", dead)], TIMEOUT_MS))
    with pytest.raises(ConnectionLoss, match=rf"127\.0\.0\.1:{dead}: .*refused"):
        await store.connect(300)
    assert store.state is SessionState.CLOSED


async def test_a_missing_chroot_is_made_with_all_that_is_above_it(
    zookeeper: ZookeeperServer,
) -> None:
    whole = await connected(zookeeper)
    store, same = [await connected(zookeeper, "/deep/er/est") for _ in range(2)]
    heard = Heard()
    await store.children("/", heard.watch)
    await same.create("/a", b"1")
    assert (await whole.get("/deep/er/est/a")).data == b"1"
    assert (await whole.get("/deep/er")).data is None
    await eventually(lambda: bool(heard.events))
    assert heard.told() == [("CHILDREN_CHANGED", "/")]
    for each in (whole, store, same):
        await each.close()


async def test_ten_thousand_znodes_and_their_watches(zookeeper: ZookeeperServer) -> None:
    world = ZookeeperWorld(zookeeper)
    store, other = await world.connect(), await world.connect()
    long_names = [f"/topic-with-a-rather-long-name-{n:05d}" for n in range(10_000)]
    assert await store.pipeline([[Create(name)] for name in long_names])
    assert len(await store.children("/")) == 10_000
    assert None not in await store.get_many(long_names)
    heard = Heard()
    await asyncio.gather(*(store.get(name, heard.watch) for name in long_names))
    await world.suspend(store)
    await other.pipeline([[SetData(name, b"1")] for name in long_names[::1_000]])
    await world.resume(store)
    await eventually(lambda: len(heard.events) == 10, LONG_S)
    assert {event.path for event in heard.events} == set(long_names[::1_000])
    await other.set(long_names[1], b"1")
    await eventually(lambda: len(heard.events) == 11, LONG_S)
    await world.close()


async def test_acls_let_others_read_but_for_secrets(zookeeper: ZookeeperServer) -> None:
    owner = await connected(zookeeper, "/owned", ("digest", "kafka:secret"))
    same = await connected(zookeeper, "/owned", ("digest", "kafka:secret"))
    other = await connected(zookeeper, "/owned", ("digest", "kafka:guess"))
    nobody = await connected(zookeeper, "/owned")
    for path in ("/brokers/ids", "/config/users/alice", "/consumers"):
        await owner.create(path, b"1", make_parents=True)
    await same.set("/config/users/alice", b"2")
    for stranger in (other, nobody):
        assert (await stranger.get("/brokers/ids")).data == b"1"
        with pytest.raises(NotPermitted):
            await stranger.get("/config/users/alice")
        with pytest.raises(NotPermitted):
            await stranger.set("/brokers/ids", b"2")
        with pytest.raises(NotPermitted):
            await stranger.create("/brokers/ids/1")
    await nobody.create("/consumers/old-group")
    for store in (owner, same, other, nobody):
        await store.close()
