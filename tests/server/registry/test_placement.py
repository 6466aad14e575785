"""Replica placement: Kafka's answers for known clusters, and what must hold for all."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.registry.placement import (
    ImpossiblePlacement,
    Racks,
    assign_added_partitions,
    assign_replicas,
    rack_alternated,
)

FIVE: Racks = dict.fromkeys(range(5))
SIX_IN_RACKS: Racks = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}


def test_ten_partitions_on_five_brokers() -> None:
    """The table in the comment of Kafka's AdminUtils."""
    assert list(assign_replicas(FIVE, 10, 3, start=0, shift=0).values()) == [
        [0, 1, 2],
        [1, 2, 3],
        [2, 3, 4],
        [3, 4, 0],
        [4, 0, 1],
        [0, 2, 3],
        [1, 3, 4],
        [2, 4, 0],
        [3, 0, 1],
        [4, 1, 2],
    ]


def test_seven_partitions_over_three_racks() -> None:
    """The other table there: the ring alternates racks, each partition has one replica in each."""
    assert rack_alternated(SIX_IN_RACKS) == [0, 3, 1, 5, 4, 2]
    assert list(assign_replicas(SIX_IN_RACKS, 7, 3, start=0, shift=0).values()) == [
        [0, 3, 1],
        [3, 1, 5],
        [1, 5, 4],
        [5, 4, 2],
        [4, 2, 0],
        [2, 0, 3],
        [0, 4, 2],
    ]


def test_racks_of_different_sizes_alternate_while_they_can() -> None:
    assert rack_alternated({1: "a", 2: "a", 3: "a", 4: "b"}) == [1, 4, 2, 3]


def test_added_partitions_go_on_where_the_first_began() -> None:
    whole = assign_replicas(FIVE, 12, 3, start=2, shift=2)
    begun = {partition: whole[partition] for partition in range(4)}
    assert begun | assign_added_partitions(FIVE, begun, 12) == whole


def test_added_partitions_when_the_first_broker_is_gone() -> None:
    without_two: Racks = {0: None, 1: None, 3: None}
    assert assign_added_partitions(without_two, {0: [2, 0]}, 2) == {1: [0, 1]}
    assert assign_added_partitions(without_two, {0: [7, 0]}, 2) == {1: [1, 3]}


@pytest.mark.parametrize(
    ("racks", "partitions", "factor", "message"),
    [
        (FIVE, 0, 1, "Number of partitions must be larger than 0"),
        (FIVE, 1, 0, "Replication factor must be larger than 0"),
        (FIVE, 1, 6, "Replication factor: 6 larger than available brokers: 5"),
        ({}, 1, 1, "larger than available brokers: 0"),
        ({0: "a", 1: None}, 1, 1, "Not all brokers have rack information"),
    ],
)
def test_impossible_wishes(racks: Racks, partitions: int, factor: int, message: str) -> None:
    with pytest.raises(ImpossiblePlacement, match=message):
        assign_replicas(racks, partitions, factor, start=0, shift=0)


@st.composite
def wishes(draw: st.DrawFn) -> tuple[Racks, int, int, int, int]:
    brokers = draw(st.sets(st.integers(0, 50), min_size=1, max_size=9))
    rack = st.sampled_from("abc") if draw(st.booleans()) else st.none()
    racks = {broker: draw(rack) for broker in brokers}
    partitions, start, shift = (draw(st.integers(low, 40)) for low in (1, 0, 0))
    return racks, partitions, draw(st.integers(1, len(brokers))), start, shift


@given(wishes())
def test_replicas_are_distinct_spread_and_across_racks(
    wish: tuple[Racks, int, int, int, int],
) -> None:
    racks, partitions, factor, start, shift = wish
    assignment = assign_replicas(racks, partitions, factor, start=start, shift=shift)
    assert list(assignment) == list(range(partitions))
    for replicas in assignment.values():
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= set(racks)
        rack_count = len(set(racks.values()))
        assert len({racks[broker] for broker in replicas}) == min(factor, rack_count)
    leaders = [replicas[0] for replicas in assignment.values()]
    led = sorted(leaders.count(broker) for broker in racks)
    assert led[-1] - led[0] <= 1
    assert len(racks) == 1 or all(one != other for one, other in pairwise(leaders))
