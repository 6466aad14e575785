"""One batch per decision: when it counts, and what its failure is called."""

from dataclasses import replace

import pytest

from barnabas.storage.batch.header import NO_PRODUCER_ID
from barnabas.storage.log_config import LogConfig
from barnabas.wire.error_codes import ErrorCode

from .counters import TOPIC, CounterWorld
from .world import CONFIG


def _replicated(world: CounterWorld) -> None:
    """Another replica in sync, which is behind."""
    partition = world.partition()
    partition.isr = partition.replicas = (0, 1)


def test_a_decision_is_one_batch(world: CounterWorld) -> None:
    told: list[tuple[ErrorCode, int]] = []
    world.add("a", 1)
    world.writer.append(world.shard(), [(b"b", b"1"), (b"c", b"2")], lambda *how: told.append(how))
    assert told == [(ErrorCode.NONE, 1)], "the offset of the batch"
    _, (header, first), (same, second) = world.records()
    assert header == same and header.producer_id == NO_PRODUCER_ID
    assert header.partition_leader_epoch == world.partition().leader_epoch
    assert [(r.key, r.value) for r in (first, second)] == [(b"b", b"1"), (b"c", b"2")]
    assert first.timestamp == world.clock.now_ms()


def test_it_counts_when_it_is_replicated(world: CounterWorld) -> None:
    _replicated(world)
    answers = world.add("a", 1)
    assert (answers, world.shard().values) == ([], {})
    world.followers_catch_up()
    assert (answers, world.shard().values) == ([ErrorCode.NONE], {"a": 1})


def test_it_waits_as_long_as_the_topic_says(world: CounterWorld) -> None:
    _replicated(world)
    answers = world.add("a", 1)
    world.clock.advance(TOPIC.write_timeout_ms - 1)
    assert answers == []
    world.clock.advance(1)
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE], "the topic's name for a timeout"
    assert world.shard().values == {}


def test_a_leadership_that_ends_meanwhile(world: CounterWorld) -> None:
    _replicated(world)
    answers, shard = world.add("a", 1), world.shard()
    world.reload()
    world.followers_catch_up()
    assert answers == [ErrorCode.NOT_COORDINATOR], "it is not for the one before to say"
    assert (shard.values, world.shard().values) == ({}, {"a": 1}), "but it is in the log"


def test_replicas_that_became_too_few_meanwhile(world: CounterWorld) -> None:
    _replicated(world)
    partition = world.partition()
    partition.log.update_config(replace(CONFIG, min_insync_replicas=2))
    answers = world.add("a", 1)
    partition.isr = (0,)
    world.followers_catch_up()
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE], "one disk is not what was promised"
    assert world.shard().values == {}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (replace(CONFIG, min_insync_replicas=2), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (replace(CONFIG, max_message_bytes=10), ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_errors_of_the_log_by_their_name_here(
    world: CounterWorld, config: LogConfig, told: ErrorCode
) -> None:
    partition = world.partition()
    partition.replicas = (0, 1)
    partition.log.update_config(config)
    assert world.add("a", 1) == [told]
    assert world.shard().values == {} and world.records() == []


def test_fetches_that_wait_for_the_partition_are_told(world: CounterWorld) -> None:
    key = world.partition().key
    log = world.partition().log
    wait = world.fetches.park(
        [key], 60_000, lambda _: log.log_end_offset > 0, lambda: log.log_end_offset
    )
    ends: list[object] = []
    wait.then(lambda given: ends.append(given.answer()))
    world.add("a", 1)
    assert ends == [1]


def test_flushed_before_it_is_acknowledged(world: CounterWorld) -> None:
    world.partition().log.update_config(replace(CONFIG, flush_messages=1))
    assert world.add("a", 1) == [ErrorCode.NONE]
    assert world.partition().log.recovery_point == 1
