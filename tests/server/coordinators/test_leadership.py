"""Partitions come and go: loaded, lost, loaded again, not readable and tried again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.coordinators import leadership, loading
from barnabas.server.coordinators.leadership import LOOK_AGAIN_MS, RELOAD_PAUSE_MS
from barnabas.server.coordinators.shards import Shard, ShardState
from barnabas.wire.error_codes import ErrorCode

from .counters import CounterShard, CounterWorld


def test_what_was_written_is_there_in_the_next_leadership(world: CounterWorld) -> None:
    assert [world.add("a", 2), world.add("b", 1), world.add("a", 3)] == [[ErrorCode.NONE]] * 3
    before = world.shard()
    assert before.values == {"a": 5, "b": 1}
    world.leadership.resigned(0)
    assert before.told == ["loaded 0", "retired"]
    assert world.add("a", 1) == [ErrorCode.NOT_COORDINATOR]
    world.reload()
    after = world.shard()
    assert after is not before
    assert (after.values, after.told) == ({"a": 5, "b": 1}, ["loaded 2"])
    assert world.add("a", 1) == [ErrorCode.NONE]
    assert after.values["a"] == 6
    assert before.values == {}, "it keeps nothing that it does not answer for"


def test_one_leadership_is_loaded_once(world: CounterWorld) -> None:
    world.add("a", 1)
    shard = world.shard()
    for epoch in (1, 0):
        world.partition().leader_epoch = epoch
        world.leadership.elected(world.partition())
        assert world.shard() is shard and shard.is_active
    assert shard.leader_epoch == 1


def test_a_leadership_that_goes_on_in_a_new_epoch_keeps_what_it_knows(
    world: CounterWorld,
) -> None:
    """As when a follower was lost: the controller raises the epoch, and nobody else has led."""
    world.partition().isr = world.partition().replicas = (0, 1)
    answers, shard = world.add("a", 1), world.shard()
    world.lead(0, 2)
    assert world.shard() is shard and shard.is_active
    assert (shard.leader_epoch, shard.told) == (2, ["loaded 0"])
    world.followers_catch_up()
    assert (answers, shard.values) == ([ErrorCode.NONE], {"a": 1})


def _lead_with_a_follower_behind(world: CounterWorld) -> None:
    """Take over what a leader before has written and only this broker has."""
    world.partition().isr = world.partition().replicas = (0, 1)
    world.add("a", 1)
    world.leadership.resigned(0)
    world.lead(0, 2, isr=(0, 1))


def test_nothing_is_answered_from_what_could_still_be_lost(world: CounterWorld) -> None:
    async def run() -> None:
        _lead_with_a_follower_behind(world)
        await world.replayed()
        assert world.add("a", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        world.clock.advance(2 * LOOK_AGAIN_MS)
        assert (world.shard().state, world.shard().told) == (ShardState.SETTLING, [])
        world.followers_catch_up()
        assert (world.shard().told, world.shard().values) == (["loaded 1"], {"a": 1})

    loaded: list[int] = []
    world.leadership.on_loaded = lambda: loaded.append(world.shard().count)
    world.loop.run_until_complete(run())
    assert loaded == [1]
    answers = world.add("a", 1)
    world.followers_catch_up()
    assert answers == [ErrorCode.NONE]


def test_a_high_watermark_that_moved_unheard_is_seen_all_the_same(world: CounterWorld) -> None:
    async def run() -> None:
        _lead_with_a_follower_behind(world)
        await world.replayed()
        world.partition().log.maybe_increment_high_watermark(1)
        world.clock.advance(LOOK_AGAIN_MS)

    world.loop.run_until_complete(run())
    assert world.shard().is_active


def test_a_leadership_that_ends_before_everything_is_safe(world: CounterWorld) -> None:
    async def run() -> None:
        _lead_with_a_follower_behind(world)
        await world.replayed()
        given_up = world.shard()
        world.leadership.resigned(0)
        world.followers_catch_up()
        assert given_up.told == ["retired"]

    world.loop.run_until_complete(run())
    assert world.add("a", 1) == [ErrorCode.NOT_COORDINATOR]


def test_nobody_is_answered_from_what_is_half_loaded(world: CounterWorld) -> None:
    world.add("a", 1)

    async def run() -> None:
        world.leadership.resigned(0)
        world.lead(0, 2)
        assert world.add("a", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        given_up = world.shard()
        world.leadership.resigned_all()
        assert world.add("a", 1) == [ErrorCode.NOT_COORDINATOR]
        world.lead(0, 3)
        await world.loaded()
        assert given_up.told == ["retired"], "it comes too late to be loaded"

    world.loop.run_until_complete(run())
    assert world.shard().values == {"a": 1}


def test_whoever_wants_to_know_is_told_of_a_loaded_partition(world: CounterWorld) -> None:
    loaded: list[int] = []
    world.leadership.on_loaded = lambda: loaded.append(world.shard().count)
    world.reload()
    assert loaded == [], "there is nothing in an empty log"
    world.add("a", 1)
    world.reload()
    assert loaded == [1]


def _try_again(world: CounterWorld) -> None:
    world.clock.advance(RELOAD_PAUSE_MS)
    for _ in range(3):
        world.loop.run_until_complete(asyncio.sleep(0))


@pytest.mark.broker_says("counters cannot be loaded.*partition=0")
@pytest.mark.parametrize("failure", [OSError("a bad sector"), ValueError("a bug")])
def test_a_log_that_cannot_be_read_is_read_again(
    world: CounterWorld, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    for amount in (3, 4):
        world.add("a", amount)
    decode, failures = loading.decode_batch, [failure] * 2
    calls = 0

    def second_fails(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % 2 == 0 and failures:  # half of the log has been read by then
            raise failures.pop()
        return decode(*arguments)

    monkeypatch.setattr(loading, "decode_batch", second_fails)
    world.reload()
    shard = world.shard()
    for left in (1, 0):
        assert len(failures) == left
        assert (shard.state, shard.values) == (ShardState.FAILED, {}), "half is worse than none"
        assert world.add("a", 1) == [ErrorCode.NOT_COORDINATOR]
        _try_again(world)
    assert shard.told == ["retired", "retired", "loaded 1"]
    assert shard.values == {"a": 7}
    assert world.add("a", 1) == [ErrorCode.NONE]


@pytest.mark.broker_says("counters cannot be loaded")
def test_a_failed_leadership_that_ends_is_not_tried_again(
    world: CounterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add("a", 1)

    def fails(*_: Any) -> Any:
        raise OSError("a bad sector")

    with monkeypatch.context() as patch:
        patch.setattr(loading, "decode_batch", fails)
        world.reload()
    failed = world.shard()
    world.reload()
    assert world.shard().values == {"a": 1}
    _try_again(world)
    assert failed.is_retired and failed.values == {}


@pytest.mark.broker_says("counters cannot be loaded")
def test_a_log_that_cannot_be_read_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = CounterWorld(tmp_path, partitions=2)
    replay = leadership.replay

    async def first_fails(shard: Shard, buffer_bytes: int) -> None:
        if shard.index == 0:
            raise ValueError("a bug")
        await replay(shard, buffer_bytes)

    monkeypatch.setattr(leadership, "replay", first_fails)
    for name in ("a", "b"):  # one in each
        world.add(name, 1)

    async def run() -> None:
        for index in range(2):
            world.leadership.resigned(index)
            world.lead(index, 2)
        await world.loaded()

    world.loop.run_until_complete(run())
    assert (world.shard(0).state, world.shard(1).state) == (ShardState.FAILED, ShardState.ACTIVE)
    assert world.shard(1).count == 1
    world.close()


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.broker_says("counters cannot be loaded.*cannot go on")
def test_a_shard_that_cannot_go_on_from_what_it_read_has_failed(
    world: CounterWorld, monkeypatch: pytest.MonkeyPatch, is_empty: bool
) -> None:
    if not is_empty:
        world.add("a", 1)
    loaded, failures = CounterShard.loaded, [RuntimeError("cannot go on")]

    def first_fails(shard: CounterShard) -> None:
        if failures:
            raise failures.pop()
        loaded(shard)

    monkeypatch.setattr(CounterShard, "loaded", first_fails)
    world.reload()
    assert world.add("a", 1) == [ErrorCode.NOT_COORDINATOR]

    async def later() -> None:
        world.clock.advance(RELOAD_PAUSE_MS)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    world.loop.run_until_complete(later())
    assert world.add("a", 1) == [ErrorCode.NONE]
    assert world.shard().values == {"a": 1 if is_empty else 2}


@pytest.mark.broker_says("counters cannot be loaded")
def test_nothing_is_loaded_once_it_is_stopped(
    world: CounterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add("a", 1)
    with monkeypatch.context() as patch:
        patch.setattr(CounterShard, "replay", None)
        world.reload()
    world.loop.run_until_complete(world.leadership.stop())
    _try_again(world)
    assert world.shard().state is ShardState.FAILED
