"""The pure decisions about leaders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.controller import elections
from barnabas.server.controller.elections import RECOVERING, first_state, not_restarted, settled
from barnabas.server.registry.bodies import PartitionState

STATE = PartitionState(1, 4, [1, 2], 7)
BROKERS = st.sets(st.integers(1, 6))
ASSIGNMENTS = st.lists(st.integers(1, 6), min_size=1, unique=True)


@st.composite
def led_partitions(draw: st.DrawFn) -> tuple[PartitionState, list[int]]:
    """A state that can be, and who is assigned."""
    replicas = draw(ASSIGNMENTS)
    isr = draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True))
    leader = draw(st.sampled_from([*isr, NO_LEADER]))
    return PartitionState(leader, draw(st.integers(0, 9)), isr, 7), replicas


def test_the_first_replica_that_lives_leads_a_new_partition_alone() -> None:
    assert first_state([3, 2, 1], {1, 2}, 7) == PartitionState(2, 0, [2, 1], 7)
    assert first_state([3], {1, 2}, 7) is None


@pytest.mark.parametrize(
    ("online", "leader", "isr"),
    [({2, 3}, 2, [2]), ({3}, NO_LEADER, [1, 2]), (set(), NO_LEADER, [1, 2]), ({1}, 1, [1])],
)
def test_only_who_is_in_sync_is_elected_and_each_time_in_a_new_epoch(
    online: set[int], leader: int, isr: list[int]
) -> None:
    assert settled(STATE, [3, 1, 2], online, 8) == PartitionState(leader, 5, isr, 8)


def test_a_partition_that_nobody_can_lead_stays_as_it_is() -> None:
    nobody = STATE._replace(leader=NO_LEADER)
    assert settled(nobody, [3, 1, 2], {3}, 8) is None
    assert settled(nobody, [3, 1, 2], {2}, 8) == PartitionState(2, 5, [2], 8)


def test_who_is_stopping_hands_over_or_leads_to_the_end() -> None:
    assert settled(STATE, [1, 2], {2}, 8, stopping={1}) == PartitionState(2, 5, [2], 8)
    assert settled(STATE, [1, 2], set(), 8, stopping={1}) is None
    assert settled(STATE, [1, 2], {1}, 8, stopping={2}) == PartitionState(1, 5, [1], 8)


def test_a_leader_that_has_forgotten_it_is_elected_anew_if_it_is_in_sync() -> None:
    assert settled(STATE, [1, 2], {1, 2}, 8, begins_anew=True) == PartitionState(1, 5, [1, 2], 8)
    assert settled(STATE, [1, 2], {1, 2}, 8) is None


def test_who_was_registered_anew_since_a_state_was_written_is_not_counted_on() -> None:
    epochs = {1: 10, 2: 20, 3: 30}
    assert not_restarted([1, 2], {1, 2, 3}, epochs, 40) == [1, 2, 3]
    assert not_restarted([1, 2], {1, 2, 3}, epochs, 15) == [1]
    assert not_restarted([2, 3], {1, 2, 3}, epochs, 15) == {1, 2, 3}  # nobody else is in sync
    assert not_restarted([1, 2], {1, 2, 3}, epochs, None) == {1, 2, 3}  # a controller has seen all


@given(
    led_partitions(), BROKERS, st.dictionaries(st.integers(1, 6), st.integers(1, 9)),
    st.none() | st.integers(1, 9),
)  # fmt: skip
def test_nobody_is_left_out_who_would_leave_a_partition_without_a_leader(
    partition: tuple[PartitionState, list[int]],
    online: set[int],
    epochs: dict[int, int],
    written_zxid: int | None,
) -> None:
    state, _ = partition
    sure = not_restarted(state.isr, online, epochs, written_zxid)
    assert set(sure) <= online
    assert bool(online & set(state.isr)) == bool(set(sure) & set(state.isr))
    if written_zxid is not None and set(sure) != online:
        assert all(epochs.get(each, 0) < written_zxid for each in sure)


@given(led_partitions(), BROKERS)
def test_whatever_happens_by_itself_only_who_is_in_sync_leads_and_it_comes_to_rest(
    partition: tuple[PartitionState, list[int]], online: set[int]
) -> None:
    state, replicas = partition
    following = settled(state, replicas, online, 8)
    after = following or state
    assert after.leader in (NO_LEADER, *state.isr)
    assert set(after.isr) <= set(state.isr) and after.isr
    if following is not None:
        assert following.leader_epoch == state.leader_epoch + 1
        assert following.controller_epoch == 8
    if online & set(state.isr):
        assert after.leader in online & set(after.isr)
        assert set(after.isr) <= online
    else:
        assert (after.leader, after.isr) == (NO_LEADER, state.isr)
    assert settled(after, replicas, online, 8) is None


@given(led_partitions(), BROKERS)
def test_an_unclean_election_takes_somebody_in_sync_before_anybody_else(
    partition: tuple[PartitionState, list[int]], online: set[int]
) -> None:
    state, replicas = partition
    following = elections.unclean(state, replicas, online, 8, recovers=True)
    if not online & set(replicas):
        assert following is None
        return
    assert following is not None and following.leader in online
    is_clean = bool(online & set(state.isr))
    assert (following.leader in state.isr) is is_clean
    assert following.leader_recovery_state == (0 if is_clean else RECOVERING)
    assert following.leader in following.isr and set(following.isr) <= online
    if not is_clean:
        assert following.isr == [following.leader] == [next(r for r in replicas if r in online)]


@given(led_partitions(), BROKERS)
def test_the_preferred_leader_is_the_first_replica_or_nobody(
    partition: tuple[PartitionState, list[int]], online: set[int]
) -> None:
    state, replicas = partition
    following = elections.preferred(state, replicas, online, 8)
    assert (following is not None) is (replicas[0] in online and replicas[0] in state.isr)
    if following is not None:
        assert (following.leader, following.isr) == (replicas[0], state.isr)


@given(led_partitions(), BROKERS, st.data())
def test_a_reassigned_partition_keeps_its_leader_if_that_stays_and_lives(
    partition: tuple[PartitionState, list[int]], online: set[int], data: st.DataObject
) -> None:
    state, _ = partition
    target = data.draw(st.lists(st.sampled_from(state.isr), min_size=1, unique=True))
    following = elections.reassigned(state, target, online, 8)
    assert (following is not None) is bool(set(target) & online)
    if following is None:
        return
    assert following.leader in target and following.leader in online
    if state.leader in target and state.leader in online:
        assert following.leader == state.leader
    assert (following.leader_epoch, following.isr) == (state.leader_epoch + 1, state.isr)


@given(led_partitions(), st.integers(1, 6))
def test_a_replica_that_is_taken_out_is_in_sync_no_more_unless_it_is_alone(
    partition: tuple[PartitionState, list[int]], replica: int
) -> None:
    state, _ = partition
    following = elections.without(state, replica, 8)
    assert (following is None) is (replica not in state.isr)
    if following is None:
        return
    assert following.isr == ([each for each in state.isr if each != replica] or state.isr)
    assert following.leader == (NO_LEADER if replica == state.leader else state.leader)
