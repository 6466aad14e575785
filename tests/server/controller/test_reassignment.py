"""The arithmetic of moves, whatever the replicas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.controller.reassignment import (
    Assignment,
    judge,
    of_partition,
    with_partition,
)
from barnabas.server.core.errors import ApiError
from barnabas.server.registry.bodies import TopicAssignment
from barnabas.wire.error_codes import ErrorCode

REPLICAS = st.lists(st.integers(1, 8), min_size=1, max_size=5, unique=True)


def test_replicas_on_their_way_are_the_target_and_then_those_that_go() -> None:
    """As Kafka wrote them: [2, 3] to [3, 1]."""
    moving = Assignment([2, 3]).towards([3, 1])
    assert moving == ([3, 1, 2], [1], [2])
    assert (moving.origin, moving.target) == ([3, 2], [3, 1])


@given(REPLICAS, REPLICAS, REPLICAS)
def test_a_move_goes_where_it_is_wanted_and_back_whatever_was_wanted_before(
    origin: list[int], first: list[int], then: list[int]
) -> None:
    assignment = Assignment(origin).towards(first)
    assert assignment.target == first
    assert sorted(assignment.origin) == sorted(origin)
    assert len(set(assignment.replicas)) == len(assignment.replicas)
    assert set(assignment.adding).isdisjoint(assignment.removing)
    overridden = assignment.towards(then)
    assert overridden.target == then
    assert sorted(overridden.origin) == sorted(origin)
    assert sorted(overridden.replicas) == sorted({*origin, *then})
    back = assignment.towards(assignment.origin)
    assert not back.is_moving and sorted(back.replicas) == sorted(origin)


@given(REPLICAS, REPLICAS, st.sets(st.integers(1, 8)))
def test_a_move_has_ended_when_the_target_is_in_sync(
    origin: list[int], target: list[int], isr: set[int]
) -> None:
    moving = Assignment(origin).towards(target)
    assert moving.is_complete(isr) is (set(target) <= isr or set(origin) == set(target))


@given(st.lists(REPLICAS, min_size=1, max_size=4), REPLICAS)
def test_a_topics_other_partitions_stay(partitions: list[list[int]], target: list[int]) -> None:
    before = TopicAssignment(dict(enumerate(partitions)))
    changed = of_partition(before, 0).towards(target)
    after = with_partition(before, 0, changed)
    assert of_partition(after, 0) == (
        changed.replicas, changed.adding or (), changed.removing or (),
    )  # fmt: skip
    for index in range(1, len(partitions)):
        assert of_partition(after, index) == of_partition(before, index)
    ended = with_partition(after, 0, Assignment(target))
    assert (ended.adding_replicas, ended.removing_replicas) == ({}, {})


@pytest.mark.parametrize(
    ("target", "may_resize", "code"),
    [
        ([], True, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], True, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, -1], True, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 5], True, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1], False, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_what_cannot_be(target: list[int], may_resize: bool, code: ErrorCode) -> None:
    with pytest.raises(ApiError) as refused:
        judge(Assignment([1, 2]), target, {1, 3}, may_resize=may_resize)
    assert refused.value.code is code


def test_a_replica_that_stays_need_not_live() -> None:
    judge(Assignment([1, 2]), [2, 3], {1, 3}, may_resize=False)
    judge(Assignment([1, 2]), [2, 3], None, may_resize=False)
