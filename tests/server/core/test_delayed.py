"""Waits: finished once, by event, by time, by hurry; nothing left behind."""

from collections.abc import Callable, Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.core.clock import ManualClock
from barnabas.server.core.delayed import Deferred, Delayed, Wait, look_again


class Harness:
    """One `Delayed` on a manual clock, and what its waits were resumed with."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.delayed = Delayed(self.clock, "Fetch")
        self.resumed: list[tuple[str, bool]] = []
        self.bytes_available = 0

    def park(self, name: str, keys: list[Hashable], min_bytes: int = 1) -> Wait[str]:
        wait = self.delayed.park(
            keys, 500, lambda key: self.bytes_available >= min_bytes, lambda: name
        )
        wait.then(lambda w: self.resumed.append((w.answer(), w.expired)))
        return wait


@pytest.fixture
def harness() -> Harness:
    return Harness()


def test_an_event_finishes_only_the_waits_that_are_ready(harness: Harness) -> None:
    harness.park("small", ["t-0"], min_bytes=1)
    harness.park("large", ["t-0"], min_bytes=100)
    harness.bytes_available = 10
    assert harness.delayed.complete("t-0") == 1
    assert harness.delayed.complete("t-1") == 0
    assert harness.resumed == [("small", False)]
    assert len(harness.delayed) == 1


def test_time_finishes_a_wait_and_says_so(harness: Harness) -> None:
    harness.park("fetch", ["t-0"])
    harness.clock.advance(499)
    assert harness.resumed == []
    harness.clock.advance(1)
    assert harness.resumed == [("fetch", True)]
    assert harness.delayed.expired_count == 1
    _assert_nothing_is_left(harness)


def test_a_wait_of_many_keys_leaves_them_all_at_once(harness: Harness) -> None:
    wait = harness.park("fetch", ["t-0", "t-1", "t-0"])
    harness.bytes_available = 1
    assert harness.delayed.complete("t-1") == 1
    assert harness.delayed.complete("t-0") == 0
    wait.hurry()
    wait.cancel()
    harness.clock.advance(1_000)
    assert harness.resumed == [("fetch", False)]
    _assert_nothing_is_left(harness)


def test_hurry_answers_with_what_is_there(harness: Harness) -> None:
    wait = harness.park("fetch", ["t-0"])
    wait.hurry()
    assert harness.resumed == [("fetch", False)]
    _assert_nothing_is_left(harness)


@pytest.mark.parametrize("gives_way", [False, True])
def test_only_a_wait_that_gives_way_finishes_for_a_request_behind_it(
    harness: Harness, gives_way: bool
) -> None:
    wait = harness.park("fetch", ["t-0"])
    wait.gives_way = gives_way
    wait.give_way()
    assert wait.done is gives_way
    assert len(harness.resumed) == int(gives_way)


def test_a_closed_connection_cancels(harness: Harness) -> None:
    harness.park("fetch", ["t-0"]).cancel()
    harness.bytes_available = 1
    harness.delayed.complete("t-0")
    harness.clock.advance(1_000)
    assert harness.resumed == []
    _assert_nothing_is_left(harness)


def test_then_on_a_finished_wait_resumes_at_once(harness: Harness) -> None:
    wait = harness.delayed.park(["t-0"], 500, lambda key: True, lambda: "late")
    harness.delayed.complete("t-0")
    answers: list[str] = []
    wait.then(lambda w: answers.append(w.answer()))
    assert answers == ["late"]


def test_a_resumed_client_may_park_again_under_the_same_key(harness: Harness) -> None:
    harness.bytes_available = 1
    first = harness.delayed.park(["t-0"], 500, lambda key: True, lambda: "first")
    first.then(lambda w: harness.park("second", ["t-0"]))
    assert harness.delayed.complete("t-0") == 1
    assert harness.delayed.is_watched("t-0")
    assert harness.delayed.complete("t-0") == 1
    assert harness.resumed == [("second", False)]


def test_a_wait_that_another_one_cancelled_is_not_resumed(harness: Harness) -> None:
    harness.bytes_available = 1
    first = harness.delayed.park(["t-0"], 500, lambda key: True, lambda: "first")
    second = harness.park("second", ["t-0"])
    first.then(lambda w: second.cancel())
    assert harness.delayed.complete("t-0") == 1
    assert harness.resumed == []


def test_a_deleted_topic_finishes_its_waits_unasked(harness: Harness) -> None:
    harness.park("one", ["t-0"])
    harness.park("two", ["t-0"])
    assert harness.delayed.complete_all("t-0") == 2
    assert [name for name, _ in harness.resumed] == ["one", "two"]


def test_a_failing_predicate_leaves_the_error_to_the_answer(harness: Harness) -> None:
    def fail(key: Hashable) -> bool:
        raise KeyError(key)

    wait = harness.delayed.park(["t-0"], 500, fail, lambda: "answer")
    other = harness.park("other", ["t-0"], min_bytes=0)
    assert harness.delayed.complete("t-0") == 2
    assert wait.done
    assert other.done


def test_a_wait_without_a_key_is_over_at_once(harness: Harness) -> None:
    wait = harness.park("nothing to wait for", [])
    assert wait.done and harness.resumed == [("nothing to wait for", False)]
    _assert_nothing_is_left(harness)


def test_what_had_happened_before_a_wait_was_parked_is_seen_by_looking_again(
    harness: Harness,
) -> None:
    harness.bytes_available = 1
    wait = harness.park("late", ["t-0", "t-1"])
    assert list(look_again(wait)) == [] and wait.done
    waiting = harness.park("waits", ["t-0", "t-1"], min_bytes=2)
    assert list(look_again(waiting)) == [None, None] and not waiting.done
    steps = look_again(waiting)
    next(steps)
    waiting.cancel()
    assert list(steps) == []
    _assert_nothing_is_left(harness)


def test_a_stopping_broker_drops_them_all(harness: Harness) -> None:
    for number in range(10):
        harness.park("fetch", [f"t-{number}", "all"])
    harness.delayed.cancel_all()
    assert harness.resumed == []
    _assert_nothing_is_left(harness)


def test_a_deferred_answer_is_given_once() -> None:
    deferred = Deferred[str]()
    answers: list[str] = []
    deferred.then(lambda d: answers.append(d.answer()))
    deferred.give_way()
    assert answers == []
    deferred.give("first")
    deferred.give("second")
    deferred.then(lambda d: answers.append(d.answer()))
    assert answers == ["first", "first"]


def test_a_deferred_answer_that_nobody_waits_for_is_given_in_vain() -> None:
    deferred = Deferred[str]()
    answers: list[str] = []
    deferred.then(lambda d: answers.append(d.answer()))
    deferred.cancel()
    deferred.give("late")
    assert answers == []
    with pytest.raises(RuntimeError, match="has not been given"):
        deferred.answer()


Step = tuple[str, int]


@given(st.lists(st.tuples(st.sampled_from(["park", "event", "time", "cancel"]), st.integers(0, 5))))
def test_every_wait_is_resumed_once_or_cancelled(steps: list[Step]) -> None:
    harness = Harness()
    waits: list[Wait[str]] = []
    cancelled = 0
    actions: dict[str, Callable[[int], object]] = {
        "park": lambda n: waits.append(harness.park(str(len(waits)), [n, n // 2])),
        "event": lambda n: harness.delayed.complete(n),
        "time": lambda n: harness.clock.advance(n * 100),
    }
    harness.bytes_available = 1
    for action, number in steps:
        if action == "cancel" and number < len(waits):
            cancelled += not waits[number].done
            waits[number].cancel()
        elif action != "cancel":
            actions[action](number)
    waiting = sum(not wait.done for wait in waits)
    assert len(harness.delayed) == waiting
    assert len(harness.resumed) == len(waits) - waiting - cancelled
    assert len({name for name, _ in harness.resumed}) == len(harness.resumed)
    harness.delayed.cancel_all()
    _assert_nothing_is_left(harness)


def _assert_nothing_is_left(harness: Harness) -> None:
    assert len(harness.delayed) == 0
    assert harness.delayed._by_key == {}
    assert harness.clock.timer_count() == 0
