"""One move, beside a log that is written to while it goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from barnabas.server.core.clock import LoopClock
from barnabas.server.core.turns import Turns
from barnabas.server.replication.moving import move
from barnabas.server.replication.moving.move import Move, Surroundings
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog
from tests.server.waiting import eventually
from tests.storage.managers import NOW_MS, append, opened

PARTITION = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=100_000)


class Held:
    """A partition, as far as a move looks at it."""

    def __init__(self, log: ManagedLog) -> None:
        self.log = log


class Scene:
    """Two directories, a log in the first of them, and its copy, which is empty."""

    def __init__(self, folder: Path, batches: int = 8) -> None:
        self.disks: LogManager = opened(folder / "one", folder / "two", config=CONFIG)
        path = self.disks.directories[0].path
        self.source = self.disks.create(PARTITION, CONFIG, NOW_MS, path=path)
        for _ in range(batches):
            append(self.source, b"x" * 20)
        self.future = self.disks.futures.create(self.source, self.disks.directories[1], NOW_MS)
        self.recovery_points: list[tuple[int, int]] = []
        """Of the log in use and of its copy, as they were exchanged."""
        self.times_prepared = 0

    def exchange(self, partition: Partition, future: ManagedLog) -> bool:
        assert self.disks.futures.can_replace(future)
        self.recovery_points.append((self.source.recovery_point, future.recovery_point))
        return True

    def around(self) -> Surroundings:
        clock = LoopClock(asyncio.get_running_loop(), print)
        return Surroundings(
            clock, Turns(), self.disks, ReplicationQuota(clock), lambda count: None, self.exchange
        )

    def move(self) -> Move:
        return Move(cast(Partition, Held(self.source)), self.future, self.around())

    def acknowledge(self) -> None:
        """What is flushed after each append is acknowledged when it is on the disk."""
        append(self.source, b"acknowledged")
        self.disks.flush(self.source)

    def acknowledge_while_prepared(self, times: int) -> None:
        """So many times more is acknowledged while the copy is made durable."""
        prepare = self.disks.futures.prepare

        def prepare_late(future: ManagedLog, done: Callable[[], None]) -> None:
            self.times_prepared += 1
            prepare(future, done)
            if self.times_prepared <= times:
                self.acknowledge()

        self.disks.futures.prepare = prepare_late  # type: ignore[method-assign]


def run(scene: Scene, begin: Callable[[Move], Awaitable[None]]) -> None:
    async def moving() -> None:
        await begin(scene.move())

    asyncio.run(moving())
    scene.disks.close()


def test_it_is_as_durable_as_the_log_whose_place_it_takes(tmp_path: Path) -> None:
    """It is ready; files beside it are unlinked, and until they are gone more is acknowledged."""
    scene = Scene(tmp_path)
    at_work = scene.disks.maintenance._unlinking._at_work
    at_work.add(scene.future.data_directory)

    async def begin(move: Move) -> None:
        moving = asyncio.ensure_future(move.run())
        await eventually(lambda: scene.future.log_end_offset == 8)
        scene.acknowledge()
        at_work.clear()
        await moving

    run(scene, begin)
    assert scene.recovery_points == [(9, 9)]


def test_a_log_that_is_always_ahead_is_overtaken_in_the_last_step(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.acknowledge_while_prepared(1_000)
    run(scene, Move.run)
    end = 8 + scene.times_prepared
    assert scene.times_prepared == move.MOST_TIMES_PREPARED
    assert scene.recovery_points == [(end, end)]


def test_the_last_step_waits_for_no_more_than_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path)
    scene.acknowledge_while_prepared(move.MOST_TIMES_PREPARED)
    monkeypatch.setattr(move, "LAST_SYNCED_BYTES", 10)
    run(scene, Move.run)
    end = 8 + move.MOST_TIMES_PREPARED
    assert scene.times_prepared == move.MOST_TIMES_PREPARED + 1
    assert scene.recovery_points == [(end, end)]


def test_no_segment_is_larger_than_the_settings_want_by_now(tmp_path: Path) -> None:
    """The copy is made with `segment.bytes` as it was, which is lowered while it is filled."""
    scene = Scene(tmp_path)
    batch_bytes = scene.source.size_bytes // 8
    scene.disks.update_config("orders", replace(CONFIG, segment_bytes=3 * batch_bytes))
    assert len(scene.source.segments) == 1
    run(scene, Move.run)
    assert [segment.size_bytes for segment in scene.future.segments] == [
        3 * batch_bytes, 3 * batch_bytes, 2 * batch_bytes,
    ]  # fmt: skip
