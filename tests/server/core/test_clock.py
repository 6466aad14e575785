"""Both clocks behind one surface: order of timers, lazy resets, memory, and real wake-ups."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.core.clock import LoopClock, ManualClock, Timer
from barnabas.server.core.units import parse_duration_ms

DAY_MS = 86_400_000


def test_timers_fire_in_order_of_deadline_and_then_of_setting() -> None:
    clock, fired = ManualClock(), list[str]()
    clock.call_later(20, lambda: fired.append("late"))
    clock.call_later(10, lambda: fired.append("first of two"))
    clock.call_later(10, lambda: fired.append("second of two"))
    clock.advance(9)
    assert fired == []
    clock.advance(11)
    assert fired == ["first of two", "second of two", "late"]


def test_each_timer_sees_its_own_moment_and_may_set_more() -> None:
    clock = ManualClock(now_ms=1_000)
    seen: list[tuple[int, float]] = []

    def tick() -> None:
        seen.append((clock.now_ms(), clock.monotonic_ms()))
        clock.call_later(DAY_MS, tick)

    clock.call_later(DAY_MS, tick)
    clock.advance("3 days")
    assert seen == [(1_000 + n * DAY_MS, n * DAY_MS) for n in (1, 2, 3)]
    assert clock.now_ms() == 1_000 + 3 * DAY_MS


def test_call_at_takes_a_moment_of_the_monotonic_clock() -> None:
    clock, fired = ManualClock(), list[float]()
    clock.advance(100)
    clock.call_at(150, lambda: fired.append(clock.monotonic_ms()))
    clock.advance(100)
    assert fired == [150]


def test_a_deadline_in_the_past_fires_with_the_next_advance() -> None:
    clock, fired = ManualClock(), list[float]()
    clock.advance(100)
    clock.call_at(50, lambda: fired.append(clock.monotonic_ms()))
    assert fired == []
    clock.advance(0)
    assert fired == [100]


def test_a_cancelled_timer_is_silent_and_a_spent_one_cannot_be_reset() -> None:
    clock, fired = ManualClock(), list[str]()
    cancelled = clock.call_later(5, lambda: fired.append("cancelled"))
    spent = clock.call_later(5, lambda: fired.append("spent"))
    cancelled.cancel()
    cancelled.cancel()
    clock.advance(5)
    spent.reset(5)
    spent.cancel()
    clock.advance(100)
    assert fired == ["spent"]
    assert not spent.active
    assert clock.timer_count() == 0


def test_a_reset_timer_fires_once_at_its_last_deadline() -> None:
    clock, fired = ManualClock(), list[float]()
    timer = clock.call_later(30, lambda: fired.append(clock.monotonic_ms()))
    clock.advance(20)
    timer.reset(30)  # later: 50
    clock.advance(25)
    timer.reset(1)  # earlier than its heap entry: 46
    assert clock.timer_count() == 1
    clock.advance(100)
    assert fired == [46]


def test_heartbeats_do_not_grow_the_heap() -> None:
    clock = ManualClock()
    sessions = [clock.call_later(45_000, lambda: None) for _ in range(1_000)]
    for _ in range(100):
        clock.advance(3_000)
        for session in sessions:
            session.reset(45_000)
    assert len(clock._heap) <= 1_000
    assert clock.timer_count() == 1_000


def test_cancelled_timers_do_not_pile_up() -> None:
    clock = ManualClock()
    kept = clock.call_later(DAY_MS, lambda: None)
    for _ in range(10_000):
        clock.call_later(DAY_MS, lambda: None).cancel()
    assert len(clock._heap) < 200
    assert clock.timer_count() == 1
    assert kept.active


def test_an_endless_timer_is_found_out() -> None:
    clock = ManualClock()

    def again() -> None:
        clock.call_later(0, again)

    clock.call_later(1, again)
    with pytest.raises(RuntimeError, match="one sets itself endlessly"):
        clock.advance("1 h")


def test_the_beats_of_periodic_work_become_one_at_the_end() -> None:
    clock, beats = ManualClock(), list[float]()

    def beat() -> None:
        beats.append(clock.monotonic_ms())
        clock.call_later(1_000, beat, coalesces=True)

    seen: list[float] = []
    clock.call_later(DAY_MS, lambda: seen.append(clock.monotonic_ms()))
    clock.call_later(1_000, beat, coalesces=True)
    clock.advance("2 days")
    clock.advance(1_000)
    assert beats == [2 * DAY_MS, 2 * DAY_MS + 1_000]
    assert seen == [DAY_MS]
    assert clock.timer_count() == 1


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        ManualClock().advance(-1)


@pytest.mark.parametrize("duration", ["500000 weeks", 2.0**70, float("inf"), float("nan")])
def test_a_clock_ends_where_moments_are_no_longer_told_apart(duration: float | str) -> None:
    clock, beats = ManualClock(), list[int]()
    clock.call_later(250, lambda: beats.append(clock.now_ms()))
    with pytest.raises(ValueError, match="ends with the year 9999"):
        clock.advance(duration)
    assert not beats
    clock.advance("360000 weeks")
    clock.call_later(0.5, lambda: beats.append(clock.now_ms()))
    clock.advance(0.25)
    assert len(beats) == 1
    clock.advance(0.25)
    assert len(beats) == 2


@given(
    st.lists(
        st.tuples(st.sampled_from(["set", "reset", "cancel", "advance"]), st.integers(0, 50)),
        max_size=60,
    )
)
def test_any_mix_of_operations_fires_what_a_plain_list_would(
    operations: list[tuple[str, int]],
) -> None:
    clock = ManualClock()
    timers: list[Timer] = []
    fired: list[tuple[int, float]] = []
    expected: dict[int, float] = {}
    expected_fired: list[tuple[int, float]] = []
    now = 0
    for name, number in operations:
        if name == "set":
            index = len(timers)
            timers.append(
                clock.call_later(number, lambda i=index: fired.append((i, clock.monotonic_ms())))
            )
            expected[index] = now + number
        elif name == "advance":
            now += number
            due = sorted((at, i) for i, at in expected.items() if at <= now)
            expected_fired += [(i, at) for at, i in due]
            for _, index in due:
                del expected[index]
            clock.advance(number)
        elif timers:
            index = number % len(timers)
            if name == "cancel":
                timers[index].cancel()
                expected.pop(index, None)
            elif index in expected:
                timers[index].reset(number)
                expected[index] = now + number
    assert sorted(fired, key=lambda f: (f[1], f[0])) == expected_fired
    assert [at for _, at in fired] == sorted(at for _, at in fired)
    assert clock.timer_count() == len(expected)


def test_the_running_clock_wakes_the_loop_in_order() -> None:
    async def run() -> list[str]:
        clock = _loop_clock()
        fired: list[str] = []
        done = asyncio.Event()
        clock.call_later(30, done.set)
        clock.call_later(20, lambda: fired.append("second"))
        clock.call_later(5, lambda: fired.append("first"))
        moved = clock.call_later(1, lambda: fired.append("third"))
        moved.reset(25)
        await asyncio.wait_for(done.wait(), 5)
        return fired

    assert asyncio.run(run()) == ["first", "second", "third"]


def test_the_running_clock_never_fires_early() -> None:
    async def run() -> list[float]:
        clock = _loop_clock()
        early: list[float] = []
        done = asyncio.Event()
        for delay in itertools.chain(range(40), (0.3, 1.7)):
            deadline = clock.monotonic_ms() + delay
            clock.call_at(deadline, lambda d=deadline: early.append(clock.monotonic_ms() - d))
        clock.call_later(60, done.set)
        await asyncio.wait_for(done.wait(), 5)
        return early

    late = asyncio.run(run())
    assert len(late) == 42
    assert min(late) > -0.01


def test_the_running_clock_can_be_advanced_too() -> None:
    async def run() -> tuple[list[str], float]:
        clock = _loop_clock()
        fired: list[str] = []
        soon = asyncio.Event()
        clock.call_later(7 * DAY_MS, lambda: fired.append("a week"))
        clock.call_later(7 * DAY_MS + 30, soon.set)
        before = clock.now_ms()
        clock.advance("7 days")
        passed = clock.now_ms() - before
        await asyncio.wait_for(soon.wait(), 5)
        return fired, passed

    fired, passed = asyncio.run(run())
    assert fired == ["a week"]
    assert 7 * DAY_MS <= passed < 7 * DAY_MS + 5_000


def test_an_exception_reaches_on_error_and_the_next_timer_runs() -> None:
    async def run() -> list[str]:
        errors: list[str] = []
        clock = LoopClock(asyncio.get_running_loop(), lambda error: errors.append(str(error)))
        done = asyncio.Event()

        def fail() -> None:
            raise ValueError("no")

        clock.call_later(1, fail)
        clock.call_later(1, done.set)
        await asyncio.wait_for(done.wait(), 5)
        return errors

    assert asyncio.run(run()) == ["no"]


def test_a_closed_clock_is_silent() -> None:
    async def run() -> list[str]:
        clock, fired = _loop_clock(), list[str]()
        clock.call_later(1, lambda: fired.append("no"))
        clock.close()
        done = asyncio.Event()
        asyncio.get_running_loop().call_later(0.02, done.set)
        await done.wait()
        return fired

    assert asyncio.run(run()) == []


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("7 days", 7 * DAY_MS),
        ("250ms", 250),
        ("1h 30m", 5_400_000),
        ("1.5 s", 1_500),
        ("2 W", 14 * DAY_MS),
    ],
)
def test_durations_in_words(text: str, ms: float) -> None:
    assert parse_duration_ms(text) == ms


@given(st.text(max_size=12))
def test_any_other_text_is_refused_with_an_example(text: str) -> None:
    try:
        assert parse_duration_ms(text) >= 0
    except ValueError as error:
        assert "7 days" in str(error)


def _loop_clock() -> LoopClock:
    def fail(error: Exception) -> None:
        raise error

    return LoopClock(asyncio.get_running_loop(), fail)
