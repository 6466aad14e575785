"""The embedded ensemble over its journal: restarts, killed processes, failing disks."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.server.registry.znodes import journal as journals
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME, Ensemble
from barnabas.server.registry.znodes.store import (
    Check,
    Create,
    Delete,
    Op,
    SetData,
    StoreFailed,
    WatchEvent,
    ZnodeError,
)
from tests.server.registry.worlds import FIRST_MS, Heard
from tests.server.registry.znodes.test_journal import largest_file, shown


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / JOURNAL_NAME


def size_of(path: Path) -> int:
    return path.stat().st_size


def now_ms() -> int:
    return FIRST_MS


async def test_the_tree_is_there_again_without_the_ephemerals(path: Path) -> None:
    ensemble = Ensemble(now_ms, path)
    store = ensemble.connect()
    await store.create("/a/b", b"1", make_parents=True)
    await store.multi([Create("/c"), SetData("/a/b", b"2"), Create("/s-", sequential=True)])
    before = shown(ensemble.tree)
    await store.create("/e", ephemeral=True)
    ensemble.close()
    again = Ensemble(now_ms, path)
    after = shown(again.tree)
    assert again.tree.last_zxid == 4
    del before["/"], after["/"]
    assert after == before
    again.close()


async def test_the_ephemerals_of_a_dead_process_go_at_the_next_start(path: Path) -> None:
    ensemble = Ensemble(now_ms, path)
    store = ensemble.connect()
    for name in ("/e1", "/e2"):
        await store.create(name, ephemeral=True)
    path_of_the_dead = path.with_name("copied")
    shutil.copy(path, path_of_the_dead)
    ensemble.close()
    again = Ensemble(now_ms, path_of_the_dead)
    assert set(again.tree.nodes) == {"/"}
    assert again.tree.ephemerals == {}
    assert again.tree.last_zxid == 3
    assert await again.connect().create("/s-", sequential=True) == "/s-0000000002"
    again.close()
    assert Ensemble(now_ms, path_of_the_dead).tree.last_zxid == 4


@pytest.mark.broker_says("the registry could not be written: .*File too large")
async def test_a_journal_that_cannot_be_written_changes_nothing(path: Path) -> None:
    ensemble = Ensemble(now_ms, path)
    store = ensemble.connect()
    await store.create("/a", b"0")
    heard = Heard()
    await store.get("/a", heard.watch)
    before, size = shown(ensemble.tree), size_of(path)
    with largest_file(size + 40):
        with pytest.raises(StoreFailed):
            await store.set("/a", b"1" * 100)
        with pytest.raises(StoreFailed):
            await store.pipeline([[Create("/b")], [SetData("/a", b"2")], [Delete("/b")]])
    assert (shown(ensemble.tree), size_of(path)) == (before, size)
    assert heard.events == []
    await store.set("/a", b"3")
    assert heard.told() == [("DATA_CHANGED", "/a")]
    ensemble.close()
    assert Ensemble(now_ms, path).tree.nodes["/a"].data == b"3"


async def test_the_journal_is_compacted_as_it_grows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "REWRITE_BYTES", 2_000)
    ensemble = Ensemble(now_ms, path)
    store = ensemble.connect()
    await store.create("/a")
    largest = 0
    for number in range(500):
        await store.set("/a", b"%d" % number)
        largest = max(largest, size_of(path))
    assert largest < 2_500
    before = shown(ensemble.tree)
    ensemble.close()
    again = Ensemble(now_ms, path)
    assert shown(again.tree) == before
    assert again.tree.nodes["/a"].version == 500
    again.close()


async def test_a_compaction_that_fails_does_not_disturb(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "REWRITE_BYTES", 100)
    ensemble = Ensemble(now_ms, path)
    store = ensemble.connect()
    path.with_name(path.name + ".tmp").mkdir()
    for number in range(20):
        await store.create(f"/n{number}", b"x" * 20)
    before = shown(ensemble.tree)
    path.with_name(path.name + ".tmp").rmdir()
    ensemble.close()
    again = Ensemble(now_ms, path)
    assert shown(again.tree) == before
    again.close()


@pytest.mark.broker_says("a watch of /a failed")
async def test_watches_that_write_or_fail_disturb_nobody() -> None:
    ensemble = Ensemble(now_ms)
    store = ensemble.connect()
    order: list[str] = []

    def writes(event: WatchEvent) -> None:
        order.append(event.path)
        ensemble.commit(store.session_id, [[Create("/late")]])
        order.append("written")

    def fails(event: WatchEvent) -> None:
        raise RuntimeError("a bug in a watch")

    last = Heard()
    await store.exists("/a", writes)
    await store.exists("/a", fails)
    await store.exists("/a", last.watch)
    await store.exists("/late", lambda event: order.append(event.path))
    await store.create("/a")
    assert order == ["/a", "written", "/late"]
    assert last.told() == [("CREATED", "/a")]


async def test_settling_and_closing_without_a_journal() -> None:
    ensemble = Ensemble(now_ms)
    store = ensemble.connect()
    await store.create("/e", ephemeral=True)
    await ensemble.settled("/e")
    ensemble.close()
    assert set(ensemble.tree.nodes) == {"/"}


async def test_session_ids_are_new_after_a_restart() -> None:
    earlier = Ensemble(lambda: FIRST_MS).connect().session_id
    later = Ensemble(lambda: FIRST_MS + 1).connect().session_id
    assert 0 < earlier < later


async def test_a_session_that_expires_while_connected_begins_again() -> None:
    ensemble = Ensemble(now_ms)
    store = ensemble.connect()
    await store.create("/e", ephemeral=True)
    heard = Heard()
    store.on_session(heard.session)
    old = store.session_id
    ensemble.end_session(old)
    assert [state.name for state, _ in heard.states] == ["LOST", "ESTABLISHED"]
    assert store.session_id > old
    assert await store.exists("/e") is None


names = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/a/x/z"])
datas = st.none() | st.binary(max_size=5)
operations = st.one_of(
    st.builds(Create, names, datas, st.booleans(), st.booleans()),
    st.builds(SetData, names, datas, st.integers(-1, 2)),
    st.builds(Delete, names, st.integers(-1, 2)),
    st.builds(Check, names, st.integers(-1, 2)),
)
rounds = st.lists(st.lists(st.lists(operations, max_size=4), max_size=5), max_size=6)


@given(rounds, st.sampled_from([0, 300, 1 << 20]))
@settings(max_examples=60, deadline=None)
def test_any_history_is_the_same_after_a_restart(
    history: list[list[list[Op]]], rewrite_bytes: int
) -> None:
    """Whatever was done, refused and compacted: the file holds what memory held."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(journals, "REWRITE_BYTES", rewrite_bytes)
        path = Path(folder) / JOURNAL_NAME
        for transactions in history:
            ensemble = Ensemble(now_ms, path)
            store = ensemble.connect()
            ensemble.commit(store.session_id, transactions)
            held, last_zxid = shown(ensemble.tree), ensemble.tree.last_zxid
            loaded = journals.load(path, path.read_bytes())
            assert (shown(loaded.tree), loaded.tree.last_zxid) == (held, last_zxid)
            assert loaded.tree.ephemerals == ensemble.tree.ephemerals
            ensemble.close()


WRITER = """
import asyncio, sys, time
from pathlib import Path
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes import journal

async def main():
    journal.REWRITE_BYTES = 20_000
    ensemble = Ensemble(lambda: time.time_ns() // 1_000_000, Path(sys.argv[1]))
    store = ensemble.connect()
    number = len(ensemble.tree.nodes) - 1
    while True:
        await store.create(f"/n{number:06d}", b"x" * (number % 50))
        print(number, flush=True)
        number += 1

asyncio.run(main())
"""


def test_what_a_killed_process_was_told_is_kept(path: Path) -> None:
    """Kill a writer in the middle of its work, three times over, also while it compacts."""
    told = -1
    for more in (60, 350, 700):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        with writer, writer.stdout:
            for _ in range(more):
                told = int(writer.stdout.readline())
            os.kill(writer.pid, signal.SIGKILL)
            told = max([told, *map(int, writer.stdout.read().split("\n")[:-1])])
        journal, loaded = journals.open_journal(path)
        journal.close()
        assert len(loaded.tree.nodes) - 2 in (told, told + 1)
        assert all(f"/n{number:06d}" in loaded.tree.nodes for number in range(told + 1))
    assert told > 1000


def test_refusals_name_the_path() -> None:
    assert str(ZnodeError("/a")) == "ZnodeError: /a"
