"""Ctrl-C where Python or PySpark would lose it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import pytest

from barnabas.pipeline.spark.interrupts import never_lost, told

PATIENCE_S = 60


class Interrupted:
    """Ctrl-C comes while it is destroyed."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def wait() -> None:
    """As for a job that never ends."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture
def usual_handler() -> Any:
    """Python's own, whatever an earlier test's SparkContext has left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_handler")
def test_while_an_object_is_destroyed_it_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), never_lost():
        dropped = Interrupted()
        del dropped
        wait()


def test_what_else_is_raised_there_is_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("broken")

    raised: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: raised.append(str(each.exc_value)))
    with never_lost():
        broken = Broken()
        del broken
    assert raised == ["broken"]


@pytest.mark.usefixtures("usual_handler")
def test_whoever_was_told_of_it_is_told_of_it_still() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda *_: wait())  # as PySpark does when it makes a context
    with told(lambda number, _: heard.append(number)):
        os.kill(os.getpid(), signal.SIGINT)
    assert heard == [signal.SIGINT]


def test_a_thread_beside_the_main_one_leaves_it_alone() -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            with told(signal.default_int_handler):
                pass
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE_S)
    assert not raised
