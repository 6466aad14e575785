"""When an audit begins once more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.pipeline.audit import auditing
from barnabas.pipeline.audit.auditing import audit
from barnabas.pipeline.audit.question import Question
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

QUESTION = Question(KafkaCluster("127.0.0.1:1"), "lake")
CLEAN = SimpleNamespace(is_clean=True)
VIEW = SimpleNamespace()


class TaskFailed(Exception):
    """As Spark has it: what the task met stands in the text."""

    def __init__(self, met: str) -> None:
        super().__init__(f"Job aborted due to stage failure: Lost task 1.0 in stage 7.0: {met}")


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the attempts are to end with, in turn: an exception, or what was found."""
    ends: list[Any] = []

    @contextmanager
    def admin(*_: Any) -> Iterator[None]:
        yield

    class Attempt:
        def __init__(self, *_: Any) -> None:
            pass

        def run(self) -> Any:
            end = ends.pop(0)
            if isinstance(end, Exception):
                raise end
            return end

    monkeypatch.setattr(auditing, "Admin", admin)
    monkeypatch.setattr(auditing, "_view", lambda *_: VIEW)
    monkeypatch.setattr(auditing, "_is_overtaken", lambda *_: False)
    monkeypatch.setattr(auditing, "_Audit", Attempt)
    return ends


def run() -> Any:
    spark: Any = None
    return audit(spark, QUESTION)


SHARED = TaskFailed(
    "java.util.ConcurrentModificationException: KafkaConsumer is not safe for multi-threaded access"
)


def test_where_two_tasks_of_spark_have_got_one_consumer(attempts: list[Any]) -> None:
    """Records that retention takes while they are read make them share it."""
    attempts += [SHARED, SHARED, CLEAN]
    assert run() is CLEAN


def test_but_not_for_ever(attempts: list[Any]) -> None:
    attempts += [SHARED, SHARED, SHARED, CLEAN]
    with pytest.raises(TaskFailed):
        run()
    assert attempts == [CLEAN]


def test_and_not_for_anything_else(attempts: list[Any]) -> None:
    attempts += [TaskFailed("java.lang.NullPointerException"), CLEAN]
    with pytest.raises(TaskFailed):
        run()
    assert attempts == [CLEAN]


def test_where_a_file_goes_while_the_lake_is_listed(
    attempts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = [FileNotFoundError("batch.json"), VIEW]

    def look(*_: Any) -> Any:
        look = looks.pop(0)
        if isinstance(look, Exception):
            raise look
        return look

    monkeypatch.setattr(auditing, "_view", look)
    attempts += [CLEAN]
    assert run() is CLEAN


def test_but_not_for_a_lake_that_is_none(
    attempts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def look(*_: Any) -> Any:
        nonlocal looks
        looks += 1
        raise PipelineError("lake is no lake")

    monkeypatch.setattr(auditing, "_view", look)
    with pytest.raises(PipelineError):
        run()
    assert looks == 1
