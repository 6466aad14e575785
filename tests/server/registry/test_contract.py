"""What every store must do, whatever keeps the znodes. Runs over each `World`.

A later session of the same tree stands for another broker. Events are awaited, since a store
over a network delivers them in its own time; that none comes is shown by a later one.
"""

import asyncio
from collections.abc import Callable

import pytest

from barnabas.server.registry.znodes.store import (
    ANY_VERSION,
    BadArguments,
    BadVersion,
    Check,
    ConnectionLoss,
    Create,
    Delete,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionExpired,
    SessionState,
    SetData,
    Stat,
    ZnodeError,
)
from tests.server.registry.worlds import EmbeddedWorld, Heard, World
from tests.server.waiting import PATIENCE_S, eventually

WORLDS: list[Callable[[], World]] = [EmbeddedWorld]


@pytest.fixture(params=WORLDS, ids=lambda world: world.__name__)
def world(request: pytest.FixtureRequest) -> World:
    made: World = request.param()
    return made


async def test_a_new_znode_has_version_zero_and_the_times_of_its_making(world: World) -> None:
    store = await world.connect()
    assert await store.create("/a", b"first") == "/a"
    data, stat = await store.get("/a")
    assert data == b"first"
    assert (stat.version, stat.cversion, stat.aversion) == (0, 0, 0)
    assert stat.czxid == stat.mzxid == stat.pzxid > 0
    assert stat.ctime_ms == stat.mtime_ms
    assert (stat.ephemeral_owner, stat.data_length_bytes, stat.num_children) == (0, 5, 0)
    await world.close()


async def test_null_data_and_empty_data_differ(world: World) -> None:
    store = await world.connect()
    await store.create("/null")
    await store.create("/empty", b"")
    assert (await store.get("/null")).data is None
    assert (await store.get("/empty")).data == b""
    assert (await store.set("/empty", None)).data_length_bytes == 0
    assert (await store.get("/empty")).data is None
    await world.close()


async def test_a_parent_counts_its_children(world: World) -> None:
    store = await world.connect()
    await store.create("/p")
    for name in ("a", "b", "c"):
        await store.create(f"/p/{name}")
    await store.delete("/p/b")
    stat = (await store.get("/p")).stat
    assert sorted(await store.children("/p")) == ["a", "c"]
    assert (stat.num_children, stat.cversion, stat.version) == (2, 4, 0)
    assert stat.pzxid > stat.mzxid == stat.czxid
    await world.close()


async def test_children_of_the_root(world: World) -> None:
    store = await world.connect()
    await store.create("/a")
    assert "a" in await store.children("/")
    await world.close()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/absent/child", NoNode),
        ("/there", NodeExists),
        ("/passing/child", NoChildrenForEphemerals),
    ],
)
async def test_creations_that_are_refused(world: World, path: str, error: type[ZnodeError]) -> None:
    store = await world.connect()
    await store.create("/there")
    await store.create("/passing", ephemeral=True)
    with pytest.raises(error) as refused:
        await store.create(path)
    assert refused.value.path == path
    await world.close()


@pytest.mark.parametrize("path", ["", "a", "/a/", "//a", "/a//b", "/./a", "/a/..", "/a\x00b"])
async def test_malformed_paths_are_refused(world: World, path: str) -> None:
    store = await world.connect()
    with pytest.raises(BadArguments):
        await store.create(path)
    with pytest.raises(BadArguments):
        await store.get(path)
    await world.close()


@pytest.mark.parametrize("name", ["<default>", "*", "...", "a b", "ümläut", "b'pk'", "%40"])
async def test_names_that_kafka_and_its_clients_use(world: World, name: str) -> None:
    store = await world.connect()
    await store.create(f"/{name}", b"1")
    assert (await store.get(f"/{name}")).data == b"1"
    assert name in await store.children("/")
    await world.close()


async def test_parents_are_made_on_request_with_null_data(world: World) -> None:
    store = await world.connect()
    assert await store.create("/a/b/c", b"x", make_parents=True) == "/a/b/c"
    assert (await store.get("/a")).data is None
    assert (await store.get("/a/b")).data is None
    assert await store.create("/a/b/d", make_parents=True) == "/a/b/d"
    with pytest.raises(NodeExists):
        await store.create("/a/b/c", make_parents=True)
    await world.close()


async def test_set_expects_a_version(world: World) -> None:
    store = await world.connect()
    await store.create("/a", b"0")
    first = await store.set("/a", b"1", 0)
    assert first.version == 1
    assert first.mzxid > first.czxid
    with pytest.raises(BadVersion):
        await store.set("/a", b"2", 0)
    assert (await store.set("/a", b"33", ANY_VERSION)).data_length_bytes == 2
    with pytest.raises(NoNode):
        await store.set("/absent", b"", ANY_VERSION)
    assert await store.get("/a") == (b"33", await store.exists("/a"))
    await world.close()


async def test_delete_expects_a_version_and_no_children(world: World) -> None:
    store = await world.connect()
    await store.create("/a/b", make_parents=True)
    with pytest.raises(BadVersion):
        await store.delete("/a", 7)
    with pytest.raises(NotEmpty):
        await store.delete("/a", 0)
    await store.delete("/a/b")
    await store.delete("/a", 0)
    assert await store.exists("/a") is None
    with pytest.raises(NoNode):
        await store.delete("/a")
    with pytest.raises(BadArguments):
        await store.delete("/")
    await world.close()


async def test_reading_what_is_not_there(world: World) -> None:
    store = await world.connect()
    await store.create("/a", b"1")
    with pytest.raises(NoNode):
        await store.get("/absent")
    with pytest.raises(NoNode):
        await store.children("/absent")
    found = await store.get_many(["/absent", "/a"])
    assert found == [None, await store.get("/a")]
    assert await store.get_many([]) == []
    await world.close()


async def test_sequential_names_are_never_used_twice(world: World) -> None:
    store = await world.connect()
    await store.create("/s")
    assert await store.create("/s/change_", sequential=True) == "/s/change_0000000000"
    assert await store.create("/s/change_", sequential=True) == "/s/change_0000000001"
    await store.delete("/s/change_0000000001")
    await store.create("/s/other")
    assert await store.create("/s/change_", sequential=True) == "/s/change_0000000003"
    assert await store.create("/s/", b"", sequential=True) == "/s/0000000004"
    await world.close()


async def test_a_transaction_happens_as_a_whole(world: World) -> None:
    store = await world.connect()
    await store.create("/guard")
    results = await store.multi(
        [
            Check("/guard", 0),
            Create("/t", b""),
            SetData("/t", b"1", 0),
            Create("/t/n-", None, sequential=True),
            Create("/t/n-", None, sequential=True),
            Delete("/t/n-0000000000"),
        ]
    )
    stat = results[2]
    assert isinstance(stat, Stat)
    assert results == [None, "/t", stat, "/t/n-0000000000", "/t/n-0000000001", None]
    last = await store.exists("/t/n-0000000001")
    assert last is not None
    assert stat.czxid == stat.mzxid == last.czxid == (await store.get("/t")).stat.pzxid
    await world.close()


async def test_a_refused_transaction_leaves_nothing_behind(world: World) -> None:
    store = await world.connect()
    await store.create("/p/old", b"0", make_parents=True)
    before = [await store.get("/p"), await store.get("/p/old")]
    heard = Heard()
    await store.children("/p", heard.watch)
    with pytest.raises(BadVersion) as refused:
        await store.multi(
            [
                Create("/p/new", b"", ephemeral=True),
                SetData("/p/old", b"1"),
                Delete("/p/new"),
                Delete("/p/old"),
                Create("/p/old", b"again"),
                Check("/p/old", 1),
                Create("/p/never"),
            ]
        )
    assert (refused.value.path, refused.value.failed_op) == ("/p/old", 5)
    assert [await store.get("/p"), await store.get("/p/old")] == before
    assert await store.children("/p") == ["old"]
    await store.create("/p/last")
    await eventually(lambda: bool(heard.events))
    assert heard.told() == [("CHILDREN_CHANGED", "/p")]
    await world.close()


async def test_a_pipeline_goes_on_after_a_refusal(world: World) -> None:
    store = await world.connect()
    await store.create("/epoch")
    outcomes = await store.pipeline(
        [
            [Check("/epoch", 0), Create("/a")],
            [Check("/epoch", 1), Create("/b")],
            [Check("/epoch", 0), Create("/a/c")],
            [SetData("/absent", b"")],
            [],
        ]
    )
    assert outcomes[0] == [None, "/a"]
    assert isinstance(outcomes[1], BadVersion)
    assert (outcomes[1].path, outcomes[1].failed_op) == ("/epoch", 0)
    assert outcomes[2] == [None, "/a/c"]
    assert isinstance(outcomes[3], NoNode)
    assert outcomes[4] == []
    assert await store.exists("/b") is None
    assert await store.pipeline([]) == []
    await world.close()


async def test_zxids_rise_by_one_order_for_all_sessions(world: World) -> None:
    one, two = await world.connect(), await world.connect()
    await one.create("/a")
    await two.create("/b")
    await one.set("/a", b"")
    stats = [(await two.get("/a")).stat, (await one.get("/b")).stat]
    assert stats[0].czxid < stats[1].czxid < stats[0].mzxid
    await world.close()


async def test_ephemerals_belong_to_their_session(world: World) -> None:
    one, two = await world.connect(), await world.connect()
    assert one.session_id != two.session_id
    await one.create("/mine", ephemeral=True)
    await one.create("/mine-", ephemeral=True, sequential=True)
    await one.create("/stays")
    stat = await two.exists("/mine")
    assert stat is not None
    assert stat.ephemeral_owner == one.session_id
    await one.close()
    await one.close()
    assert one.state is SessionState.CLOSED
    assert [n for n in await two.children("/") if n.startswith("mine")] == []
    assert await two.exists("/stays") is not None
    with pytest.raises(SessionExpired):
        await one.get("/stays")
    await world.close()


async def test_a_data_watch_fires_once_after_the_change(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/a", b"0")
    heard = Heard()
    await store.get("/a", heard.watch)
    await store.get("/a", heard.watch)
    await other.set("/a", b"1")
    await other.set("/a", b"2")
    await eventually(lambda: bool(heard.events))
    await store.get("/a", heard.watch)
    await other.delete("/a")
    await eventually(lambda: len(heard.events) == 2)
    assert heard.told() == [("DATA_CHANGED", "/a"), ("DELETED", "/a")]
    await world.close()


async def test_an_exists_watch_waits_for_the_creation(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    heard = Heard()
    assert await store.exists("/a", heard.watch) is None
    await other.create("/a")
    await eventually(lambda: bool(heard.events))
    assert await store.exists("/a", heard.watch) is not None
    await other.set("/a", b"1")
    await eventually(lambda: len(heard.events) == 2)
    assert heard.told() == [("CREATED", "/a"), ("DATA_CHANGED", "/a")]
    await world.close()


async def test_a_get_of_nothing_leaves_no_watch(world: World) -> None:
    store = await world.connect()
    heard, later = Heard(), Heard()
    with pytest.raises(NoNode):
        await store.get("/a", heard.watch)
    with pytest.raises(NoNode):
        await store.children("/a", heard.watch)
    await store.exists("/a", later.watch)
    await store.create("/a")
    await store.create("/a/b")
    await store.set("/a", b"")
    await eventually(lambda: bool(later.events))
    assert heard.events == []
    await world.close()


async def test_many_are_watched_at_once(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/a", b"1")
    read, looked = Heard(), Heard()
    assert [znode and znode.data for znode in await store.get_many(["/a", "/b"], read.watch)] == [
        b"1",
        None,
    ]
    stats = await store.exists_many(["/a", "/b", "/c"], looked.watch)
    assert [stat and stat.data_length_bytes for stat in stats] == [1, None, None]
    assert await store.exists_many([], looked.watch) == []
    await other.create("/b")
    await other.set("/a", b"22")
    await eventually(lambda: len(looked.events) == 2 and bool(read.events))
    assert looked.told() == [("CREATED", "/b"), ("DATA_CHANGED", "/a")]
    assert read.told() == [("DATA_CHANGED", "/a")]
    await world.close()


async def test_a_child_watch_hears_of_children_and_of_the_end(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/p")
    heard = Heard()
    await store.children("/p", heard.watch)
    await other.set("/p", b"no concern of a child watch")
    await other.create("/p/a")
    await eventually(lambda: bool(heard.events))
    await store.children("/p", heard.watch)
    await other.set("/p/a", b"nor this")
    await other.delete("/p/a")
    await eventually(lambda: len(heard.events) == 2)
    await store.children("/p", heard.watch)
    await other.delete("/p")
    await eventually(lambda: len(heard.events) == 3)
    kinds = ["CHILDREN_CHANGED", "CHILDREN_CHANGED", "DELETED"]
    assert heard.told() == [(kind, "/p") for kind in kinds]
    await world.close()


async def test_one_watch_for_data_and_children_hears_of_the_end_once(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/p")
    heard, last = Heard(), Heard()
    await store.get("/p", heard.watch)
    await store.children("/p", heard.watch)
    await store.exists("/last", last.watch)
    await other.delete("/p")
    await other.create("/last")
    await eventually(lambda: bool(last.events))
    assert heard.told() == [("DELETED", "/p")]
    await world.close()


async def test_watches_fire_in_the_order_of_the_changes(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/p")
    heard = Heard()
    await store.exists("/p/a", heard.watch)
    await store.children("/p", heard.watch)
    await store.exists("/q", heard.watch)
    await other.multi([Create("/q"), Create("/p/a"), SetData("/p/a", b"1")])
    await eventually(lambda: len(heard.events) == 3)
    assert heard.told() == [("CREATED", "/q"), ("CREATED", "/p/a"), ("CHILDREN_CHANGED", "/p")]
    await world.close()


async def test_the_event_comes_before_the_news(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/a", b"0")
    heard = Heard()
    await store.get("/a", heard.watch)
    await other.set("/a", b"1")
    async with asyncio.timeout(PATIENCE_S):
        while (await store.get("/a")).data == b"0":
            pass
    assert heard.told() == [("DATA_CHANGED", "/a")]
    await world.close()


async def test_the_end_of_a_session_fires_the_watches_of_others(world: World) -> None:
    store, dying = await world.connect(), await world.connect()
    await dying.create("/ids/1", ephemeral=True, make_parents=True)
    heard, own = Heard(), Heard()
    await store.exists("/ids/1", heard.watch)
    await store.children("/ids", heard.watch)
    await dying.exists("/ids/1", own.watch)
    await dying.close()
    await eventually(lambda: len(heard.events) == 2)
    assert sorted(heard.told()) == [("CHILDREN_CHANGED", "/ids"), ("DELETED", "/ids/1")]
    assert own.events == []
    await world.close()


async def test_a_short_suspension_keeps_session_watches_and_ephemerals(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/mine", ephemeral=True)
    heard = Heard()
    store.on_session(heard.session)
    await store.exists("/a", heard.watch)
    session_id = store.session_id
    await world.suspend(store)
    assert store.state is SessionState.SUSPENDED
    with pytest.raises(ConnectionLoss):
        await store.get("/mine")
    with pytest.raises(ConnectionLoss):
        await store.create("/never")
    await other.create("/a")
    assert await other.exists("/mine") is not None
    assert heard.events == []
    await world.resume(store)
    await eventually(lambda: store.state is SessionState.ESTABLISHED and bool(heard.events))
    assert store.session_id == session_id
    assert heard.told() == [("CREATED", "/a")]
    assert heard.states == [
        (SessionState.SUSPENDED, session_id),
        (SessionState.ESTABLISHED, session_id),
    ]
    assert await other.exists("/never") is None
    await world.close()


async def test_an_expired_session_is_lost_and_a_new_one_begins(world: World) -> None:
    store, other = await world.connect(), await world.connect()
    await store.create("/mine", ephemeral=True)
    heard, seen = Heard(), Heard()
    store.on_session(heard.session)
    await store.exists("/a", heard.watch)
    await other.exists("/mine", seen.watch)
    old = store.session_id
    await world.suspend(store)
    await world.expire(store)
    await eventually(lambda: bool(seen.events))
    assert await other.exists("/mine") is None
    await other.create("/a")
    await world.resume(store)
    await eventually(lambda: store.state is SessionState.ESTABLISHED)
    new = store.session_id
    assert new != old
    assert heard.states == [
        (SessionState.SUSPENDED, old),
        (SessionState.LOST, old),
        (SessionState.ESTABLISHED, new),
    ]
    assert heard.events == []
    await store.create("/mine", ephemeral=True)
    stat = await other.exists("/mine")
    assert stat is not None
    assert stat.ephemeral_owner == new
    await world.close()
