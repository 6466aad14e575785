from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from click.testing import CliRunner

from barnabas.pipeline.land import landing
from barnabas.pipeline.land.command import land
from barnabas.pipeline.land.landing import LandedBatch, as_told
from barnabas.pipeline.options import SparkRun
from barnabas.pipeline.spark.failures import Cause, PipelineError, sentence_of_causes

WHERE = ["--lake", "l", "--checkpoint", "c"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["t", *WHERE, "--once", "--interval", "5s"], "--once and --interval exclude each other"),
        ([*WHERE, "--once", "--interval", "5s", "t"], "--once and --interval exclude each other"),
        (["t", *WHERE, "--interval", "soon"], "--interval soon: 30s, 5m and 1h are intervals"),
        (WHERE, "which topics: their names, or --pattern"),
        (["t", *WHERE, "--pattern", "t"], "which topics: their names, or --pattern"),
        (["t", "--lake", "l"], "Missing option '--checkpoint'"),
        (["compact"], "Missing option '--lake'"),
        (["compact", *WHERE], "No such option '--checkpoint'"),
        (["compact", "--lake", "l", "topic"], "Got unexpected extra argument (topic)"),
    ],
)
def test_what_is_typed_wrong_is_told(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(land, arguments)
    assert (result.exit_code, sentence in result.output) == (2, True), result.output


@pytest.mark.parametrize("arguments", [["--help"], ["compact", "--help"]])
def test_both_commands_have_help(arguments: list[str]) -> None:
    result = CliRunner().invoke(land, arguments)
    assert result.exit_code == 0
    assert "barnabas pipeline land compact --lake lake" in result.output


def test_records_lost_while_they_land_are_told_with_the_option_of_land() -> None:
    lost = Cause("SparkException", "Starting offset for a-0 was 5 but consumer reset to 8.")
    sentence = as_told(sentence_of_causes([lost]), "lake", "checkpoint")
    assert sentence.endswith("3 offsets, 5 to 7; --accept-loss goes on without them")


@pytest.mark.parametrize("text", ["IOException: No space left on", "/l/x: no space left on"])
def test_a_full_disk_is_told_by_where_it_may_be(text: str) -> None:
    told = as_told(f"{text} device", "/lake", "/checkpoint")
    assert told.startswith("no space is left for /lake or /checkpoint: nothing of the batch has")


class Stub:
    """A landing of so many batches that then fails, or does not."""

    def __init__(self, batches: int, error: Exception | None) -> None:
        self._batches, self._error = batches, error

    def __call__(
        self, spark: object, cluster: object, options: object, on_batch: Any, _: Any
    ) -> Stub:
        self._on_batch = on_batch
        return self

    def run(self) -> None:
        for number in range(self._batches):
            self._on_batch(LandedBatch(number, 5, 0))
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("batches", "error", "told"),
    [
        (0, None, "nothing new to land\n"),
        (0, PipelineError("the topic is gone"), "Error: the topic is gone\n"),
        (1, None, "batch 0: 5 records landed\n5 records in l\n"),
        (1, PipelineError("lost"), "batch 0: 5 records landed\n5 records in l\nError: lost\n"),
    ],
)
def test_only_a_landing_that_has_found_nothing_says_that_there_is_nothing(
    monkeypatch: pytest.MonkeyPatch, batches: int, error: Exception | None, told: str
) -> None:
    monkeypatch.setattr(SparkRun, "session", lambda *_: nullcontext())
    monkeypatch.setattr(landing, "Landing", Stub(batches, error))
    assert CliRunner().invoke(land, ["t", *WHERE, "--once"]).output == told
