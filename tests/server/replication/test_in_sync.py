"""Who has caught up, who lags behind, and what is committed: pure decisions."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.replication import in_sync
from barnabas.server.replication.in_sync import NEVER_MS, Follower

LAG_MS = 100.0


def alive(_: int) -> bool:
    return True


def dead(_: int) -> bool:
    return False


def follower(log_end_offset: int, last_caught_up_ms: float = NEVER_MS) -> Follower:
    made = Follower()
    made.log_end_offset = log_end_offset
    made.last_caught_up_ms = last_caught_up_ms
    return made


def fetch(of: Follower, offset: int, leader_end: int, now_ms: float) -> None:
    of.fetched(offset, 0, leader_end, -1, now_ms)


def test_one_that_fetches_at_the_end_has_caught_up_then() -> None:
    made = Follower()
    fetch(made, 5, 5, 1_000.0)
    assert (made.log_end_offset, made.last_caught_up_ms) == (5, 1_000.0)
    assert made.is_caught_up(5, 10_000.0, LAG_MS), "nothing has been written since"
    assert not made.is_caught_up(6, 1_101.0, LAG_MS)
    assert made.is_caught_up(6, 1_100.0, LAG_MS)


def test_one_that_is_always_a_little_behind_a_busy_leader_had_caught_up_at_its_fetch_before() -> (
    None
):
    made = Follower()
    for step in range(1, 5):
        fetch(made, 10 * (step - 1), 10 * step, 1_000.0 * step)
        assert made.last_caught_up_ms == (NEVER_MS if step == 1 else 1_000.0 * (step - 1))


def test_one_that_falls_farther_behind_with_each_fetch_has_not_caught_up() -> None:
    made = Follower()
    fetch(made, 0, 10, 1_000.0)
    for step in range(2, 9):
        fetch(made, step, 10 * step, 1_000.0 * step)
        assert made.last_caught_up_ms == NEVER_MS


def test_a_new_epoch_gives_those_in_sync_their_time_and_the_others_none() -> None:
    one, other = follower(5, 10.0), follower(5, 10.0)
    one.leader_elected(7, True, 500.0)
    other.leader_elected(7, False, 500.0)
    assert (one.last_caught_up_ms, other.last_caught_up_ms) == (500.0, NEVER_MS)
    fetch(other, 7, 9, 600.0)
    assert other.last_caught_up_ms == NEVER_MS, "it held what there was, but fetched never before"
    fetch(other, 9, 11, 700.0)
    assert other.last_caught_up_ms == 600.0


def test_nothing_is_committed_that_one_about_to_join_does_not_hold() -> None:
    followers = {2: follower(10), 3: follower(4)}
    assert in_sync.high_watermark(10, followers, (1, 2), alive, 0.0, LAG_MS) == 10
    assert in_sync.high_watermark(10, followers, (1, 2, 3), alive, 0.0, LAG_MS) == 4


def test_one_that_could_join_is_waited_for_as_long_as_it_lives() -> None:
    followers = {2: follower(4, last_caught_up_ms=50.0)}
    assert in_sync.high_watermark(10, followers, (1,), alive, 60.0, LAG_MS) == 4
    assert in_sync.high_watermark(10, followers, (1,), dead, 60.0, LAG_MS) == 10
    assert in_sync.high_watermark(10, followers, (1,), alive, 200.0, LAG_MS) == 10


def test_one_in_sync_that_has_not_fetched_from_this_leader_holds_everything_back() -> None:
    assert in_sync.high_watermark(10, {2: Follower()}, (1, 2), alive, 0.0, LAG_MS) == -1


def test_one_joins_with_all_that_is_committed_and_all_that_may_be() -> None:
    assert in_sync.may_join(follower(7), high_watermark=7, epoch_start_offset=5)
    assert not in_sync.may_join(follower(6), high_watermark=7, epoch_start_offset=5)
    assert not in_sync.may_join(follower(8), high_watermark=7, epoch_start_offset=9)


def test_one_that_is_no_replica_any_more_lags_behind() -> None:
    followers = {2: follower(10)}
    assert in_sync.lagging((1, 2, 3), 1, followers, 10, 1e9, LAG_MS) == {3}


def test_what_live_replicas_still_hold_is_not_below_the_low_watermark() -> None:
    held = Follower()
    held.log_start_offset = 3
    assert in_sync.low_watermark(8, {2: held}, alive) == 3
    assert in_sync.low_watermark(8, {2: held}, dead) == 8


ENDS = st.integers(-1, 20)
TIMES = st.sampled_from([NEVER_MS, 0.0, 50.0, 200.0])
FOLLOWERS = st.dictionaries(st.integers(2, 5), st.builds(follower, ENDS, TIMES), max_size=4)
SETS = st.lists(st.integers(2, 5), unique=True)


@given(followers=FOLLOWERS, isr=SETS, leader_end=st.integers(0, 20), now_ms=st.floats(0.0, 400.0))
def test_every_replica_in_sync_holds_what_is_committed(
    followers: dict[int, Follower], isr: Sequence[int], leader_end: int, now_ms: float
) -> None:
    ends = {each: of.log_end_offset for each, of in followers.items()}
    found = in_sync.high_watermark(leader_end, followers, (1, *isr), alive, now_ms, LAG_MS)
    assert found <= leader_end
    assert all(found <= ends[each] for each in isr if each in ends)
    assert found == leader_end or found in ends.values()


@given(followers=FOLLOWERS, isr=SETS, leader_end=st.integers(0, 20), now_ms=st.floats(0.0, 400.0))
def test_the_more_are_in_sync_the_less_is_committed(
    followers: dict[int, Follower], isr: Sequence[int], leader_end: int, now_ms: float
) -> None:
    def committed(some: Sequence[int]) -> int:
        return in_sync.high_watermark(leader_end, followers, some, dead, now_ms, LAG_MS)

    for more in range(2, 6):
        assert committed((1, *isr, more)) <= committed((1, *isr))


@given(followers=FOLLOWERS, isr=SETS, leader_end=st.integers(0, 20), now_ms=st.floats(0.0, 400.0))
def test_the_leader_never_lags_and_nobody_does_who_holds_everything(
    followers: dict[int, Follower], isr: Sequence[int], leader_end: int, now_ms: float
) -> None:
    found = in_sync.lagging((1, *isr), 1, followers, leader_end, now_ms, LAG_MS)
    assert found <= set(isr)
    for each in isr:
        if each in followers and followers[each].log_end_offset == leader_end:
            assert each not in found
