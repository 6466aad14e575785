"""Steps that are one call: made by whoever takes the steps, in a thread or on the spot."""

from threading import current_thread, get_ident

import pytest

from barnabas.storage.batch.steps import Elsewhere, elsewhere, finished


def test_who_takes_all_the_steps_at_once_makes_the_call_himself() -> None:
    assert finished(elsewhere(get_ident)) == get_ident()


def test_a_call_that_has_been_made_is_not_made_again() -> None:
    made: list[str] = []
    steps = elsewhere(lambda: made.append(current_thread().name))
    call = next(steps)
    assert isinstance(call, Elsewhere)
    call.make()
    with pytest.raises(StopIteration):
        next(steps)
    assert len(made) == 1


def test_a_first_step_that_was_taken_without_making_the_call_may_be_taken_again() -> None:
    steps = elsewhere(lambda: "made")
    assert next(steps) is next(steps)
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "made"


def test_what_the_call_raises_comes_out_of_the_steps() -> None:
    def work() -> None:
        raise ValueError("of the call")

    steps = elsewhere(work)
    next(steps).make()
    with pytest.raises(ValueError, match="of the call"):
        next(steps)
