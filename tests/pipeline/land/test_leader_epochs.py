from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.land.leader_epochs import epoch_ranges


class Log:
    """Offsets with the epochs of their records; what is not there was compacted, or is a marker."""

    def __init__(self, epochs: dict[int, int]) -> None:
        self.epochs, self.asked = epochs, 0

    def epoch_from(self, offset: int) -> int | None:
        self.asked += 1
        return next((epoch for at, epoch in sorted(self.epochs.items()) if at >= offset), None)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 30)), min_size=1, max_size=6),
    st.sets(st.integers(0, 200)),
    st.integers(0, 2),
)
def test_every_record_has_the_epoch_it_was_written_with(
    runs: list[tuple[int, int]], gone: set[int], spare: int
) -> None:
    epochs: dict[int, int] = {}
    epoch = 0
    for rise, length in runs:
        epoch += rise
        for _ in range(length):
            epochs[len(epochs)] = epoch
    end = len(epochs)
    log = Log({offset: epoch for offset, epoch in epochs.items() if offset not in gone})
    found = epoch_ranges(0, end, 0, epoch + spare, log.epoch_from)
    assert found[0][0] == 0 and found[-1][1] == end
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))
    told = {offset: epoch for start, stop, epoch in found for offset in range(start, stop)}
    assert all(told[offset] == epoch for offset, epoch in log.epochs.items())


def test_nothing_is_read_where_the_leader_has_not_changed() -> None:
    log = Log({})
    assert epoch_ranges(5, 1_000_000, 7, 7, log.epoch_from) == [(5, 1_000_000, 7)]
    assert epoch_ranges(5, 5, 1, 7, log.epoch_from) == []
    assert log.asked == 0


def test_a_change_among_many_records_is_found_by_few_questions() -> None:
    asked = []

    def epoch_from(offset: int) -> int:
        asked.append(offset)
        return 3 if offset < 654_321 else 9

    found = epoch_ranges(0, 1_000_000, 3, 9, epoch_from)
    assert found == [(0, 654_321, 3), (654_321, 1_000_000, 9)]
    assert len(asked) < 30
