"""A log read back: in slices, in pieces, with the transactions in it."""

import asyncio
import time

import pytest

from barnabas.server.coordinators.loading import SLICE_MS
from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.records import Record
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.wire.error_codes import ErrorCode

from .counters import TOPIC, CounterWorld

PRODUCER = 9


def test_later_records_win_and_tombstones_remove(world: CounterWorld) -> None:
    world.add("kept", 1)
    world.add("gone", 1)
    world.add("kept", 1)
    world.writer.append(world.shard(), [(b"gone", None)], lambda *_: None)
    world.reload()
    assert world.shard().values == {"kept": 2}


def test_a_log_larger_than_what_is_read_at_once(world: CounterWorld) -> None:
    names = [f"{number:0100}" for number in range(30)]
    for name in names:
        world.add(name, 1)
    world.writer.append(world.shard(), [(b"x" * TOPIC.load_buffer_bytes, b"1")], lambda *_: None)
    assert world.partition().log.size_bytes > 3 * TOPIC.load_buffer_bytes
    world.reload()
    assert world.shard().values.keys() == {*names, "x" * TOPIC.load_buffer_bytes}


@pytest.mark.parametrize(("outcome", "value"), [("commit", 7), ("abort", 3), ("open", 3)])
def test_transactions(world: CounterWorld, outcome: str, value: int) -> None:
    world.add("a", 3)
    assert world.add("a", 4, PRODUCER) == [ErrorCode.NONE]
    if outcome != "open":
        marker = build_end_transaction_marker(
            EndTransactionMarker(outcome == "commit", 0), producer_id=PRODUCER, producer_epoch=0,
            timestamp_ms=world.clock.now_ms(),
        )  # fmt: skip
        world.partition().append(marker, 1, 0, origin=AppendOrigin.COORDINATOR)
    world.reload()
    assert world.shard().values == {"a": value}
    assert world.shard().open == ({PRODUCER: {"a": 7}} if outcome == "open" else {})


def _fill(world: CounterWorld, batches: int = 300) -> None:
    for number in range(batches):
        records = [Record(n, 0, b"%d-%d" % (number, n), b"1") for n in range(100)]
        world.partition().append(build_batch(records), 1, 0, origin=AppendOrigin.COORDINATOR)


def test_others_are_served_in_between(world: CounterWorld) -> None:
    _fill(world)
    turns = 0

    async def run() -> None:
        nonlocal turns
        world.leadership.resigned(0)
        world.lead(0, 2)
        while world.counters.is_loading:
            await asyncio.sleep(0)
            turns += 1

    started = time.monotonic()
    world.loop.run_until_complete(run())
    took_ms = (time.monotonic() - started) * 1000
    assert world.shard().count == 30_000
    assert turns >= 3, f"{turns} turns in {took_ms} ms of slices of {SLICE_MS} ms"


def test_a_leadership_that_is_lost_is_not_read_to_its_end(world: CounterWorld) -> None:
    _fill(world)

    async def run() -> None:
        world.leadership.resigned(0)
        world.lead(0, 2)
        shard = world.shard()
        for _ in range(2):  # the loader's start, and a slice
            await asyncio.sleep(0)
        assert 0 < shard.count < 30_000
        world.leadership.resigned(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert shard.values == {} and "loaded" not in "".join(shard.told)

    world.loop.run_until_complete(run())
