"""The pure decisions about leaders."""

import pytest

from barnabas.server.cluster.elections import elected, first_state
from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.registry.bodies import PartitionState

STATE = PartitionState(1, 4, [1, 2], 7)


def test_the_first_replica_that_lives_leads_a_new_partition_alone() -> None:
    assert first_state([3, 2, 1], {1, 2}, 7) == PartitionState(2, 0, [2], 7)
    assert first_state([3], {1, 2}, 7) is None


@pytest.mark.parametrize(
    ("live", "leader", "isr"),
    [({2, 3}, 2, [2]), ({3}, NO_LEADER, [1, 2]), (set(), NO_LEADER, [1, 2]), ({1}, 1, [1])],
)
def test_only_who_is_in_sync_is_elected_and_each_time_in_a_new_epoch(
    live: set[int], leader: int, isr: list[int]
) -> None:
    assert elected(STATE, [3, 1, 2], live, 8) == PartitionState(leader, 5, isr, 8)


def test_a_partition_that_nobody_can_lead_stays_as_it_is() -> None:
    nobody = STATE._replace(leader=NO_LEADER)
    assert elected(nobody, [3, 1, 2], {3}, 8) is None
    assert elected(nobody, [3, 1, 2], {2}, 8) == PartitionState(2, 5, [2], 8)
