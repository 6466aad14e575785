"""Bars of what Spark does, and streams that are waited for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.spark.progress import await_query, stage_bars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_bar_is_shown_while_spark_works_and_gone_afterwards(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with stage_bars(spark, "outer", shown=True), stage_bars(spark, "inner", shown=True):
        assert spark.range(10).count() == 10
    with stage_bars(spark, "quiet", shown=False):
        assert spark.range(10).count() == 10
    shown = capsys.readouterr().err
    assert "outer" in shown and "inner" not in shown and "quiet" not in shown


def test_a_stream_tells_of_each_batch_and_ends_with_its_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = str(tmp_path / "in")
    spark.range(100).repartition(4).write.json(folder)
    stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", "2").json(folder)
    writer: Any = stream.writeStream.format("noop").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    batches: list[dict[str, Any]] = []
    assert await_query(writer.start(), batches.append) == 100
    assert [batch["batchId"] for batch in batches] == [0, 1]
    assert sum(batch["numInputRows"] for batch in batches) == 100


def test_a_stream_is_stopped_when_who_waits_gives_up(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load()
    writer: Any = stream.writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    def give_up(_: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await_query(query, give_up)
    assert not query.isActive
