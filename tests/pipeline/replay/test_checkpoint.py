"""The folder of a replay's plans."""

from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.replay.checkpoint import Checkpoint
from barnabas.pipeline.replay.plan import IDEMPOTENT, Plan
from barnabas.pipeline.spark.failures import PipelineError

PLAN = Plan("one", IDEMPOTENT, "c", {}, ())


def at(folder: Path) -> Checkpoint:
    return Checkpoint(LocalFolder(folder / "at"))


def test_a_folder_that_is_not_there_has_no_plan(tmp_path: Path) -> None:
    assert at(tmp_path).read() is None


def test_the_last_plan_counts_as_it_was_updated_last(tmp_path: Path) -> None:
    checkpoint = at(tmp_path)
    checkpoint.add(PLAN)
    checkpoint.update(PLAN.as_begun().as_finished())
    assert at(tmp_path).read() == PLAN.as_begun().as_finished()
    anew = at(tmp_path)
    anew.add(replace(PLAN, replay_id="two"))
    assert at(tmp_path).read() == replace(PLAN, replay_id="two")


def test_of_two_runs_that_begin_at_the_same_time_one_does(tmp_path: Path) -> None:
    """Each with an id of its own: both would write all records."""
    for _ in range(2):
        first, second = at(tmp_path), at(tmp_path)
        first.add(PLAN)
        with pytest.raises(PipelineError, match="another run of this replay has just begun"):
            second.add(replace(PLAN, replay_id="two"))
        assert at(tmp_path).read() == PLAN
