"""Acknowledging what is on disk and nothing else, with few calls to the disk."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.server.registry.znodes import journal as journals
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME, Ensemble
from barnabas.server.registry.znodes.group_commit import GroupCommit
from barnabas.server.registry.znodes.journal import load
from barnabas.server.registry.znodes.store import ConnectionLoss, Create, NodeExists, StoreFailed
from barnabas.storage.manager.disk_work import Done, work_inline
from tests.server.registry.worlds import FIRST_MS


class SlowDisk:
    """A worker that does what it was given when it is told to."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], None], Done]] = []
        self.calls = 0

    def run(self, work: Callable[[], None], done: Done) -> None:
        """Take work."""
        self.given.append((work, done))

    def turn(self) -> None:
        """Do the one thing that waits."""
        ((work, done),) = self.given
        self.given.clear()
        self.calls += 1
        work_inline(work, done)


async def soon() -> None:
    """Let tasks run as far as they get."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_write_is_acknowledged_when_it_is_on_disk(tmp_path: Path) -> None:
    disk = SlowDisk()
    ensemble = Ensemble(lambda: FIRST_MS, tmp_path / JOURNAL_NAME, worker=disk.run)
    store = ensemble.connect()
    written = [
        asyncio.create_task(store.create("/a")),
        asyncio.create_task(store.multi([Create("/b")])),
        asyncio.create_task(store.pipeline([[Create("/c")], [Create("/a")]])),
    ]
    await soon()
    assert await store.exists("/c") is not None
    assert not any(task.done() for task in written)
    disk.turn()
    await soon()
    assert written[0].done() and not written[1].done(), "the first call saw the first write alone"
    disk.turn()
    assert (await written[1], disk.calls) == (["/b"], 2)
    made, refused = await written[2]
    assert made == ["/c"] and isinstance(refused, NodeExists)
    with pytest.raises(NodeExists):
        await store.create("/a")
    assert isinstance((await store.pipeline([[Create("/a")]]))[0], NodeExists)
    assert disk.given == [], "what changes nothing waits for nothing"
    ensemble.close()


@pytest.mark.broker_says("could not be forced to disk", "the registry could not be written")
@pytest.mark.parametrize("failure", [OSError("the disk is on fire"), ValueError("a bug")])
async def test_a_write_that_may_be_lost_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    disk = SlowDisk()
    path = tmp_path / JOURNAL_NAME
    ensemble = Ensemble(lambda: FIRST_MS, path, worker=disk.run)
    store = ensemble.connect()
    writing = asyncio.create_task(store.create("/a"))
    await soon()

    def fails(fd: int) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fails)
        disk.turn()
    with pytest.raises(ConnectionLoss):
        await writing
    with pytest.raises(StoreFailed):
        await store.create("/b")
    ensemble.close()
    assert set(Ensemble(lambda: FIRST_MS, path).tree.nodes) == {"/", "/a"}


async def test_all_who_wait_meanwhile_share_the_next_call() -> None:
    disk = SlowDisk()
    shared = GroupCommit(lambda: None, disk.run)
    first = asyncio.create_task(shared.wait())
    await soon()
    others = [asyncio.create_task(shared.wait()) for _ in range(100)]
    await soon()
    others[0].cancel()
    disk.turn()
    disk.turn()
    await asyncio.gather(first, *others[1:])
    assert (disk.calls, disk.given) == (2, [])
    assert others[0].cancelled()


async def test_a_journal_is_rewritten_in_the_worker_while_writes_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "REWRITE_BYTES", 2_000)
    disk, path = SlowDisk(), tmp_path / JOURNAL_NAME
    ensemble = Ensemble(lambda: FIRST_MS, path, rewriter=disk.run)
    store = ensemble.connect()
    await store.create("/a")

    def on_the_loop(fd: int) -> None:
        raise AssertionError("the loop waits for the disk")

    written = 0
    with monkeypatch.context() as patched:
        for call in ("fsync", "fdatasync"):
            patched.setattr(os, call, on_the_loop)
        for number in range(2_000):
            await store.set("/a", b"%d" % number)
            assert load(path, path.read_bytes()).tree.nodes["/a"].data == b"%d" % number
            if disk.given and number % 7 == 0:
                with monkeypatch.context() as in_worker:
                    for call in ("fsync", "fdatasync"):
                        in_worker.setattr(os, call, lambda fd: None)
                    disk.turn()
                written += 1
    assert written > 4 and path.stat().st_size < 10_000
    ensemble.close()


@pytest.mark.broker_says("could not be forced to disk", "the registry could not be written")
async def test_a_registry_that_could_not_be_written_for_a_moment_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, path = SlowDisk(), tmp_path / JOURNAL_NAME
    ensemble = Ensemble(lambda: FIRST_MS, path, worker=disk.run, rewriter=disk.run)
    store = ensemble.connect()
    writing = asyncio.create_task(store.create("/a"))
    await soon()

    def fails(fd: int) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fails)
        disk.turn()
    with pytest.raises(ConnectionLoss):
        await writing
    with pytest.raises(StoreFailed):
        await store.create("/b")
    disk.turn()
    disk.turn()
    writing = asyncio.create_task(store.create("/b"))
    await soon()
    disk.turn()
    assert await writing == "/b"
    ensemble.close()
    assert set(Ensemble(lambda: FIRST_MS, path).tree.nodes) == {"/", "/a", "/b"}
