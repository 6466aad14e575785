"""The states of a shard, and which shard a name is answered from."""

import re
from pathlib import Path

import pytest

from barnabas.server.coordinators.partitioning import partition_for
from barnabas.server.coordinators.shards import TRANSITIONS, ShardEvent, ShardState
from barnabas.server.core.errors import ApiError
from barnabas.wire.error_codes import ErrorCode

from .counters import TOPIC, CounterShard, CounterWorld


def test_the_table() -> None:
    into: dict[str, set[str]] = {}
    for (before, _), after in TRANSITIONS.items():
        into.setdefault(after.value, set()).add(before.value)
    assert into == {
        "Settling": {"Loading", "Failed"},
        "Active": {"Settling"},
        "Failed": {"Loading", "Failed", "Active"},
        "Retired": {"Loading", "Settling", "Active", "Failed"},
    }
    assert {event for _, event in TRANSITIONS} == set(ShardEvent)


def test_the_documentation_draws_this_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "coordinators.md").read_text()
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert drawn == [
        (before.value, after.value, event.name) for (before, event), after in TRANSITIONS.items()
    ]
    told = dict(re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", text, re.MULTILINE))
    assert told == {event.name: event.value for event in ShardEvent}


def test_a_retired_shard_goes_nowhere(world: CounterWorld) -> None:
    shard = world.shard()
    world.leadership.resigned(0)
    assert shard.is_retired and not shard.is_active
    for event in ShardEvent:
        with pytest.raises(KeyError):
            shard.move(event)


@pytest.mark.parametrize(
    ("state", "refusal"),
    [
        (ShardState.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ShardState.SETTLING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ShardState.FAILED, ErrorCode.NOT_COORDINATOR),
        (ShardState.ACTIVE, None),
        (None, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_what_a_name_is_told(
    world: CounterWorld, state: ShardState | None, refusal: ErrorCode | None
) -> None:
    if state is None:
        world.leadership.resigned(0)
    else:
        world.shard().state = state
    if refusal is None:
        assert world.counters.of("a") is world.shard()
    else:
        with pytest.raises(ApiError) as refused:
            world.counters.of("a")
        assert refused.value.code is refusal
    is_loading = refusal is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.counters.is_loading == is_loading
    assert list(world.counters.active()) == ([world.shard()] if refusal is None else [])


def test_names_go_to_the_partitions_that_the_topic_has(tmp_path: Path) -> None:
    world = CounterWorld(tmp_path, partitions=3)
    names = [f"name-{number}" for number in range(20)]
    for name in names:
        assert world.counters.partition_of(name) == partition_for(name, 3)
        assert world.counters.of(name) is world.shard(partition_for(name, 3))
    assert sorted(shard.index for shard in world.counters) == [0, 1, 2]
    world.metadata.remove_topics([TOPIC.name])
    assert world.counters.partition_count == TOPIC.partition_count, "as many as it would get"
    world.close()


def test_a_shard_knows_the_leadership_it_is_of(world: CounterWorld) -> None:
    shard: CounterShard = world.shard()
    world.reload()
    assert (shard.leader_epoch, world.shard().leader_epoch) == (1, 2)
    assert shard.partition is world.shard().partition
