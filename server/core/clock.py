"""Time and timers: the only place where the broker learns what time it is.

A clock keeps one heap of timers. Every timer has at most one live heap entry, `(fires_at, order,
timer)`. Moving a timer to a later deadline only writes the new deadline down: its entry surfaces
at the old time and is pushed again, so a session timer that thousands of heartbeats put off costs
one heap operation per session timeout, not per heartbeat. A cancelled timer's entry stays until
it surfaces or until dead entries outnumber live ones, when the heap is rebuilt.

Deadlines are milliseconds of `monotonic_ms`, which no change of the system's date can move;
`now_ms` is for timestamps and for how old they are.
"""

import asyncio
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

from barnabas.server.core.units import parse_duration_ms, parse_jump_ms

Callback = Callable[[], object]

NEVER: Final = float("inf")
LATEST_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""
SLACK_MS: Final = 0.001
"""The event loop may wake us this much early; a timer that close to its deadline is due."""
MOST_CALLS_AT_ONE_INSTANT: Final = 100_000


class Timer:
    """One callback to be made at `deadline_ms`; made by `Clock.call_later` and `Clock.call_at`."""

    __slots__ = ("_callback", "_clock", "_entry_ms", "coalesces", "deadline_ms")

    def __init__(
        self, clock: "Clock", deadline_ms: float, callback: Callback, coalesces: bool = False
    ) -> None:
        self._clock = clock
        self._callback: Callback | None = callback
        self._entry_ms = NEVER  # when this timer's live heap entry surfaces
        self.coalesces = coalesces
        self.deadline_ms = deadline_ms

    @property
    def active(self) -> bool:
        """Whether the callback is still to come."""
        return self._callback is not None

    def cancel(self) -> None:
        """Forget the callback; harmless when it has been made or cancelled before."""
        if self._callback is not None:
            self._callback = None
            self._clock._count_dead()

    def reset(self, delay_ms: float) -> None:
        """Move an active timer to `delay_ms` from now; a spent one stays spent."""
        if self._callback is None:
            return
        self.deadline_ms = deadline_ms = self._clock.monotonic_ms() + delay_ms
        if deadline_ms < self._entry_ms:
            self._clock._count_dead()
            self._clock._push(self)


class Clock:
    """What the broker asks for the time; `LoopClock` runs by itself, `ManualClock` stands still."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = 0
        self._dead = 0
        self._advanced_ms = 0.0
        self._jumped_ms = 0.0

    def now_ms(self) -> int:
        """Milliseconds since 1970, as record timestamps count them."""
        raise NotImplementedError

    def monotonic_ms(self) -> float:
        """Milliseconds since some fixed moment, with fractions; never goes back."""
        raise NotImplementedError

    def call_later(self, delay_ms: float, callback: Callback, *, coalesces: bool = False) -> Timer:
        """Make `callback` once, `delay_ms` from now (never before this call returns).

        `coalesces` marks the beat of periodic work: when a test lets days pass at once, the
        beats missed become one at the end.
        """
        timer = Timer(self, self.monotonic_ms() + delay_ms, callback, coalesces)
        self._push(timer)
        return timer

    def call_at(self, deadline_ms: float, callback: Callback) -> Timer:
        """Make `callback` once `monotonic_ms` has reached `deadline_ms`."""
        timer = Timer(self, deadline_ms, callback)
        self._push(timer)
        return timer

    def advance(self, duration: float | str) -> None:
        """Let `duration` (ms, or words such as "7 days") pass at once, for tests.

        Timers that fall due on the way are called in the order of their deadlines, each at its
        own moment, those that they set included. An exception of one is passed to the caller.
        Raises ValueError for a time that goes back, or past the year 9999, where milliseconds
        have no fractions left and timers no moments of their own.
        """
        span_ms = parse_duration_ms(duration) if isinstance(duration, str) else duration
        if span_ms < 0:
            raise ValueError(f"a clock cannot go back: {duration}")
        if not self.now_ms() + span_ms <= LATEST_MS:
            raise ValueError(f"a clock ends with the year 9999: {duration}")
        end_ms = self.monotonic_ms() + span_ms
        instant_ms, calls = -1.0, 0
        while (due_ms := self._next_deadline()) <= end_ms:
            calls = calls + 1 if due_ms == instant_ms else 1
            if calls > MOST_CALLS_AT_ONE_INSTANT:
                raise RuntimeError(f"{calls} timers at one instant: one sets itself endlessly")
            instant_ms = due_ms
            if due_ms < end_ms and self._heap[0][2].coalesces:
                self._heap[0][2].deadline_ms = end_ms
                continue
            self._move_to(due_ms)
            if callback := self._take_due(due_ms):
                callback()
        self._move_to(end_ms)

    def jump(self, duration: float | str) -> None:
        """Set the date alone forward by `duration` (as of `advance`), or back, for tests.

        That is what an operator does, or a time server: nothing falls due by it. Raises
        ValueError.
        """
        span_ms = parse_jump_ms(duration) if isinstance(duration, str) else duration
        if not 0 <= self.now_ms() + span_ms <= LATEST_MS:
            raise ValueError(f"a date is between 1970 and 9999: {duration}")
        self._jumped_ms += span_ms

    def follow(self, former: "Clock") -> None:
        """Before any timer is set: be as far ahead of real time as a former clock is."""
        self._advanced_ms, self._jumped_ms = former._advanced_ms, former._jumped_ms

    def timer_count(self) -> int:
        """How many timers are set."""
        return len(self._heap) - self._dead

    def _move_to(self, monotonic_ms: float) -> None:
        self._advanced_ms += max(0.0, monotonic_ms - self.monotonic_ms())

    def _push(self, timer: Timer) -> None:
        self._enter(timer)

    def _enter(self, timer: Timer) -> None:
        self._order += 1
        timer._entry_ms = timer.deadline_ms
        heappush(self._heap, (timer.deadline_ms, self._order, timer))

    def _next_deadline(self) -> float:
        """The first live timer's deadline, after stale entries before it were dealt with."""
        heap = self._heap
        while heap:
            entry_ms, _, timer = heap[0]
            if timer._callback is None or entry_ms != timer._entry_ms:
                heappop(heap)
                self._dead -= 1
            elif timer.deadline_ms > entry_ms:
                heappop(heap)
                self._enter(timer)
            else:
                return entry_ms
        return NEVER

    def _take_due(self, now_ms: float) -> Callback | None:
        """The callback of the first timer due by `now_ms`, which is spent by this."""
        if self._next_deadline() > now_ms:
            return None
        timer = heappop(self._heap)[2]
        callback, timer._callback = timer._callback, None
        return callback

    def _count_dead(self) -> None:
        self._dead += 1
        if self._dead > 64 and self._dead * 2 > len(self._heap):
            self._heap = [e for e in self._heap if e[2]._callback and e[0] == e[2]._entry_ms]
            heapify(self._heap)
            self._dead = 0


class LoopClock(Clock):
    """The running clock: real time, timers on an asyncio event loop.

    `on_error` gets what a callback raised; the other timers go on.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_error: Callable[[Exception], object]
    ) -> None:
        super().__init__()
        self._loop = loop
        self._on_error = on_error
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = NEVER

    def now_ms(self) -> int:
        return int(time.time() * 1000 + self._advanced_ms + self._jumped_ms)

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000 + self._advanced_ms

    def close(self) -> None:
        """Forget every timer, for good."""
        self._heap.clear()
        self._dead = 0
        self._disarm()

    def advance(self, duration: float | str) -> None:
        try:
            super().advance(duration)
        finally:
            self._disarm()
            self._arm()

    def _push(self, timer: Timer) -> None:
        self._enter(timer)
        if timer.deadline_ms < self._alarm_ms:
            self._disarm()
            self._arm_at(timer.deadline_ms)

    def _arm(self) -> None:
        deadline_ms = self._next_deadline()
        if deadline_ms < self._alarm_ms:
            self._disarm()
            self._arm_at(deadline_ms)

    def _arm_at(self, deadline_ms: float) -> None:
        self._alarm_ms = deadline_ms
        loop_time = (deadline_ms - self._advanced_ms) / 1000
        self._alarm = self._loop.call_at(loop_time, self._ring)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._alarm_ms = NEVER

    def _ring(self) -> None:
        self._alarm = None
        self._alarm_ms = -NEVER  # timers set by the callbacks wait for the one arming below
        now_ms = self.monotonic_ms() + SLACK_MS
        while (callback := self._take_due(now_ms)) is not None:
            try:
                callback()
            except Exception as error:  # one failed timer must not silence the rest
                self._on_error(error)
        self._alarm_ms = NEVER
        self._arm()


class ManualClock(Clock):
    """A clock for tests: time stands still until `advance` is called."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        super().__init__()
        self._start_ms = now_ms

    def now_ms(self) -> int:
        return int(self._start_ms + self._advanced_ms + self._jumped_ms)

    def monotonic_ms(self) -> float:
        return self._advanced_ms
