"""The checkpoint of a replay."""

import json

import pytest

from barnabas.pipeline.replay.plan import (
    EXACTLY_ONCE,
    Part,
    Plan,
    differences,
    digest_of,
)
from barnabas.pipeline.spark.failures import PipelineError

PART = Part("a", "id", 2, "a.again", "other", rows=10, first=5, last=30, base=7)
PLAN = Plan("abc-1", EXACTLY_ONCE, "cluster", {"lake": "/l", "targets": {"a": "a.again"}}, (PART,))


def test_a_plan_is_what_its_checkpoint_says() -> None:
    assert Plan.from_json(PLAN.to_json()) == PLAN
    assert Plan.from_json(PLAN.as_finished().to_json()).finished
    assert PLAN.rows == 10


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        PLAN.to_json()[:-5],
        json.dumps({**json.loads(PLAN.to_json()), "format": 2}),
        json.dumps({**json.loads(PLAN.to_json()), "surprise": 1}),
    ],
)
def test_what_is_no_checkpoint_is_said_to_be_none(text: str) -> None:
    with pytest.raises(PipelineError, match="no plan of a replay"):
        Plan.from_json(text)


def test_a_digest_is_that_of_the_request_whatever_its_order() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


def test_differences_are_named() -> None:
    assert differences({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3}) == ["b", "c"]
