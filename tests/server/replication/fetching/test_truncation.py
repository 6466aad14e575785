"""Where a follower cuts its log, by what its leader says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.replication.fetching.truncation import Cut, EpochEnd, cut_for
from barnabas.storage.disk.fs import REAL
from barnabas.storage.producers.leader_epochs import LeaderEpochs

History = list[tuple[int, int]]
"""The epoch of each stretch of a log, and how many records it has."""


def epochs_of(history: History) -> LeaderEpochs:
    epochs, offset = LeaderEpochs(REAL, "/nowhere"), 0
    for epoch, count in history:
        epochs.assign(epoch, offset)
        offset += count
    return epochs


def end_of(history: History) -> int:
    return sum(count for _, count in history)


def log_of(history: History) -> list[int]:
    """The epoch of every record."""
    return [epoch for epoch, count in history for _ in range(count)]


def shorten(history: History, offset: int) -> History:
    left, kept = offset, []
    for epoch, count in history:
        if left > 0:
            kept.append((epoch, min(count, left)))
        left -= count
    return kept


def rounds(own: History, leader: History) -> tuple[History, int]:
    """Truncate as often as it takes; what is left, and how many rounds it took.

    Who leads has an epoch of its own, which is the newest of all, from the first moment on.
    """
    newest = max((epoch for epoch, _ in own + leader), default=0) + 1
    leaders, taken = epochs_of([*leader, (newest, 0)]), 0
    while True:
        owns = epochs_of(own)
        taken += 1
        said = EpochEnd(*leaders.end_offset_for(owns.latest_epoch, end_of(leader)))
        end = end_of(own)
        cut = cut_for(said, lambda e: owns.end_offset_for(e, end), end, 0)  # noqa: B023
        own = shorten(own, cut.offset)
        if cut.is_final or not own:
            return own, taken


@pytest.mark.parametrize(
    ("own", "leader", "left", "taken"),
    [
        ([(1, 5)], [(1, 5)], 5, 1),
        ([(1, 5)], [(1, 9), (2, 3)], 5, 1),
        ([(1, 9)], [(1, 5), (2, 7)], 5, 1),
        # KIP-279: epochs that the other has never seen, on both sides.
        ([(1, 5), (2, 4)], [(1, 5), (3, 4)], 5, 1),
        ([(1, 5), (2, 4), (4, 2)], [(1, 3), (3, 4), (5, 1)], 3, 2),
        ([(2, 4)], [(3, 4)], 0, 1),
        ([(0, 3), (2, 4), (5, 1)], [(0, 3), (3, 1)], 3, 2),
    ],
)
def test_known_histories(own: History, leader: History, left: int, taken: int) -> None:
    kept, count = rounds(own, leader)
    assert (end_of(kept), count) == (left, taken)


@st.composite
def two_histories(draw: st.DrawFn) -> tuple[History, History]:
    """Two logs that have a beginning in common, after which each epoch is written by one only."""
    counts = st.integers(1, 4)
    common = [(epoch, draw(counts)) for epoch in range(draw(st.integers(0, 3)))]
    own, leader = list(common), list(common)
    for epoch in range(len(common), len(common) + draw(st.integers(0, 6))):
        (own if draw(st.booleans()) else leader).append((epoch, draw(counts)))
    if common and draw(st.booleans()):  # one of them has more of the last epoch they share
        longer = draw(st.sampled_from([own, leader]))
        if len(longer) == len(common):
            longer[-1] = (longer[-1][0], longer[-1][1] + draw(counts))
    return own, leader


@given(two_histories())
def test_what_is_left_is_a_beginning_of_the_leaders_log(pair: tuple[History, History]) -> None:
    own, leader = pair
    kept, taken = rounds(own, leader)
    left, theirs = log_of(kept), log_of(leader)
    assert left == theirs[: len(left)]
    common = 0
    while common < min(len(log_of(own)), len(theirs)) and log_of(own)[common] == theirs[common]:
        common += 1
    assert len(left) == common, "and nothing of it is cut that they have in common"
    assert taken <= len(own) + 1


def nothing_known(epoch: int) -> tuple[int, int]:
    return -1, -1


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        (EpochEnd(-1, -1), Cut(4, True)),  # to the high watermark
        (EpochEnd(-1, 7), Cut(7, True)),  # a leader that knows no epochs
        (EpochEnd(-1, 70), Cut(10, True)),
        (EpochEnd(3, 7), Cut(7, True)),  # we know none so early
    ],
)
def test_without_epochs_the_leaders_offset_or_the_high_watermark_counts(
    said: EpochEnd, cut: Cut
) -> None:
    assert cut_for(said, nothing_known, 10, 4) == cut
