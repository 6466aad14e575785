"""The date without what it was set forward by lately."""

from barnabas.storage.manager.steady_date import SteadyDate

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NOW_MS = 1_800_000_000_000


class Clocks:
    """A date that is set, a clock that is not, and what is made of them."""

    def __init__(self) -> None:
        self.now_ms, self.monotonic_ms = NOW_MS, 0
        self.date = SteadyDate()
        self.date.watch(self.now_ms, self.monotonic_ms)

    def after(self, ms: int, *, jump_ms: int = 0) -> int:
        """Time passes, the date is set; what the steady one has moved by since the beginning."""
        self.monotonic_ms += ms
        self.now_ms += ms + jump_ms
        return self.date.before_jumps(self.now_ms, self.monotonic_ms, HOUR_MS) - NOW_MS


def test_it_is_the_date_while_nobody_sets_it() -> None:
    clocks = Clocks()
    assert [clocks.after(HOUR_MS) for _ in range(3)] == [HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS]


def test_what_it_is_set_forward_by_does_not_count_for_as_long_as_it_would_mislead() -> None:
    clocks = Clocks()
    assert clocks.after(1_000, jump_ms=DAY_MS) == 1_000
    assert clocks.after(HOUR_MS) == HOUR_MS + 1_000
    assert clocks.after(1) == HOUR_MS + 1_001 + DAY_MS


def test_each_jump_counts_for_itself() -> None:
    clocks = Clocks()
    clocks.after(0, jump_ms=DAY_MS)
    assert clocks.after(HOUR_MS // 2, jump_ms=2 * DAY_MS) == HOUR_MS // 2
    assert clocks.after(HOUR_MS // 2 + 1) == HOUR_MS + 1 + DAY_MS
    assert clocks.after(HOUR_MS // 2) == 3 * HOUR_MS // 2 + 1 + 3 * DAY_MS


def test_a_date_that_is_set_back_is_that_date() -> None:
    clocks = Clocks()
    assert clocks.after(0, jump_ms=-DAY_MS) == -DAY_MS


def test_a_mistake_that_is_undone_leaves_nothing() -> None:
    clocks = Clocks()
    clocks.after(0, jump_ms=DAY_MS)
    clocks.after(0, jump_ms=2 * DAY_MS)
    assert clocks.after(5, jump_ms=-3 * DAY_MS) == 5
    clocks.after(0, jump_ms=3 * DAY_MS)
    assert clocks.after(0, jump_ms=-DAY_MS) == 5
    assert clocks.after(0, jump_ms=-2 * DAY_MS) == 5


def test_clocks_that_drift_apart_are_no_jump() -> None:
    clocks = Clocks()
    assert clocks.after(0, jump_ms=999) == 999
