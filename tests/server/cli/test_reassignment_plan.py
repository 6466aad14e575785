"""Plans of who holds which replicas: as even as can be, and moving no more than that takes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.reassignment_plan import changes, parse_brokers, parse_plan, spread

IDS = st.integers(0, 9)


@st.composite
def replicas_anywhere(draw: st.DrawFn) -> dict[Place, list[int]]:
    found = st.lists(IDS, min_size=1, max_size=4, unique=True)
    count = draw(st.integers(1, 12))
    return {("t", index): draw(found) for index in range(count)}


@st.composite
def brokers_with_racks(draw: st.DrawFn) -> dict[int, str | None]:
    ids = draw(st.sets(IDS, min_size=4, max_size=8))
    racks = st.sampled_from([None] if draw(st.booleans()) else ["a", "b", "c"])
    return {broker: draw(racks) for broker in sorted(ids)}


@given(replicas_anywhere(), brokers_with_racks(), st.none() | st.integers(1, 4))
def test_every_partition_has_its_replicas_on_those_brokers(
    current: dict[Place, list[int]], racks: dict[int, str | None], factor: int | None
) -> None:
    plan = spread(current, racks, factor)
    assert plan.keys() == current.keys()
    for place, replicas in plan.items():
        assert len(replicas) == len(set(replicas)) == (factor or len(current[place]))
        assert set(replicas) <= set(racks)


@given(replicas_anywhere(), brokers_with_racks())
def test_without_racks_brokers_hold_evenly_many(
    current: dict[Place, list[int]], racks: dict[int, str | None]
) -> None:
    racks = dict.fromkeys(racks)
    plan = spread(current, racks)
    held = Counter(dict.fromkeys(racks, 0))
    held.update(broker for replicas in plan.values() for broker in replicas)
    assert max(held.values()) - min(held.values()) <= 1


@given(replicas_anywhere(), brokers_with_racks(), st.none() | st.integers(1, 4))
def test_a_plan_that_has_been_carried_out_moves_nothing_more(
    current: dict[Place, list[int]], racks: dict[int, str | None], factor: int | None
) -> None:
    plan = spread(current, racks, factor)
    assert changes(plan, spread(plan, racks, factor)) == {}


@given(replicas_anywhere(), brokers_with_racks())
def test_a_partition_spans_no_fewer_racks_than_its_replicas_that_stay(
    current: dict[Place, list[int]], racks: dict[int, str | None]
) -> None:
    plan = spread(current, racks)
    for place, replicas in plan.items():
        kept = {racks[each] for each in current[place] if each in racks}
        assert len({racks[each] for each in replicas}) >= len(kept)


def test_only_what_a_broker_held_that_goes_is_moved() -> None:
    current = {("t", n): [n % 3, (n + 1) % 3] for n in range(6)}
    plan = spread(current, dict.fromkeys((0, 1, 3)))
    moved = [set(plan[place]) ^ set(current[place]) for place in current]
    assert sum({2, 3} == each for each in moved) == 4 and sum(not each for each in moved) == 2


def test_a_broker_that_comes_gets_its_part_of_replicas_and_leaders() -> None:
    current = {("t", n): [n % 2, 1 - n % 2] for n in range(6)}
    plan = spread(current, dict.fromkeys((0, 1, 2)))
    assert Counter(each for replicas in plan.values() for each in replicas) == {0: 4, 1: 4, 2: 4}
    assert Counter(replicas[0] for replicas in plan.values()) == {0: 2, 1: 2, 2: 2}


def test_more_replicas_go_to_other_racks() -> None:
    plan = spread({("t", 0): [1]}, {1: "a", 2: "a", 3: "b", 4: "c"}, 3)
    assert set(plan["t", 0]) == {1, 3, 4}


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(BadInput, match="3 replicas of t-0 cannot be on 2 brokers"):
        spread({("t", 0): [0]}, dict.fromkeys((0, 1)), 3)


def test_a_file_of_kafkas_tool_is_read() -> None:
    text = """{"version": 1, "partitions": [
        {"topic": "t", "partition": 1, "replicas": [2, 0], "log_dirs": ["any", "any"]},
        {"topic": "t", "partition": 0, "replicas": [1]}]}"""
    assert parse_plan(text, "plan.json") == {("t", 1): [2, 0], ("t", 0): [1]}


def one(entry: str) -> str:
    return f'{{"version": 1, "partitions": [{entry}]}}'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "plan.json is no JSON"),
        ("[" * 100_000, "plan.json is no JSON"),
        (one('{"topic": "t", "partition": ' + "1" * 5000 + "}"), "plan.json is no JSON"),
        ("[]", "plan.json is no plan"),
        ('{"partitions": []}', "plan.json is no plan"),
        ('{"version": 1, "partitions": []}', "plan.json names no partitions"),
        (one("5"), "plan.json: 5 is no partition"),
        (one('{"topic": "t"}'), 'needs a "topic" and a "partition"'),
        (one('{"topic": "a/b", "partition": 0, "replicas": [1]}'), "cannot name a topic"),
        (one('{"topic": "t", "partition": true, "replicas": [1]}'), 'needs a "topic" and'),
        (one('{"topic": "t", "partition": 0}'), 't-0 needs "replicas", a list of broker ids'),
        (one('{"topic": "t", "partition": 0, "replicas": []}'), 't-0 needs "replicas"'),
        (one('{"topic": "t", "partition": 0, "replicas": [-1]}'), 't-0 needs "replicas"'),
        (one('{"topic": "t", "partition": 0, "replicas": [2147483648]}'), 't-0 needs "replicas"'),
        (one('{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": 5}'), "names log_dirs"),
        (one('{"topic": "t", "partition": 0, "replicas": [1, 1]}'), "t-0 names a broker twice"),
        (
            one('{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/d"]}'),
            't-0 names log_dirs; only "any" is moved to',
        ),
        (
            one(", ".join(['{"topic": "t", "partition": 0, "replicas": [1]}'] * 2)),
            "plan.json names t-0 twice",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_told_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as told:
        parse_plan(text, "plan.json")
    assert sentence in str(told.value)


@pytest.mark.parametrize("text", ["", "1,", "a", "1,-2", "1,1", "2147483648", "1;2"])
def test_brokers_are_ids_with_commas(text: str) -> None:
    assert parse_brokers("3, 1,2") == [3, 1, 2]
    with pytest.raises(BadInput, match="--brokers: "):
        parse_brokers(text)
