from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.land.claims import Claims
from barnabas.pipeline.land.marker import (
    Selection,
    new_marker,
    read_marker,
    write_marker,
)
from barnabas.pipeline.land.spark_checkpoint import (
    batch_ranges,
    last_committed,
    offsets_done,
    offsets_planned,
)
from barnabas.pipeline.spark.failures import PipelineError


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path)


def spark_writes(folder: LocalFolder, path: str, *ends: int) -> None:
    """As Spark 4.2 does: the initial offsets have a zero byte and no line of settings."""
    offsets = json.dumps({"t.x_1": {str(number): end for number, end in enumerate(ends)}})
    is_initial = path.startswith("sources")
    folder.publish(path, f"\0v1\n{offsets}" if is_initial else f'v1\n{{"conf":{{}}}}\n{offsets}')


def test_a_batch_reads_from_where_the_one_before_ended(folder: LocalFolder) -> None:
    assert offsets_done(folder) == {}
    spark_writes(folder, "sources/0/0", 3, 0)
    assert offsets_done(folder) == {("t.x_1", 0): 3, ("t.x_1", 1): 0}
    spark_writes(folder, "offsets/0", 9, 0)
    spark_writes(folder, "offsets/1", 9, 4, 2)
    assert batch_ranges(folder, 0) == {("t.x_1", 0): (3, 9)}
    assert batch_ranges(folder, 1) == {("t.x_1", 1): (0, 4), ("t.x_1", 2): (0, 2)}
    assert last_committed(folder) == -1
    assert offsets_planned(folder) == {("t.x_1", 0): 9, ("t.x_1", 1): 4, ("t.x_1", 2): 2}
    folder.publish("commits/0", "v1\n{}")
    folder.publish("commits/.0.crc", "")
    assert last_committed(folder) == 0
    assert offsets_done(folder) == {("t.x_1", 0): 9, ("t.x_1", 1): 0}


def test_a_landing_knows_its_checkpoint_again(folder: LocalFolder) -> None:
    assert read_marker(folder) is None
    marker = new_marker("cluster", Selection(("a", "b")))
    write_marker(folder, marker)
    assert read_marker(folder) == marker
    later = marker.next_generation(Selection((), "a.*"), 12)
    assert (later.landing_id, later.spark_checkpoint) == (marker.landing_id, "spark-00001")
    write_marker(folder, later)
    assert read_marker(folder) == later
    assert new_marker("cluster", Selection()).landing_id != marker.landing_id


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 9}', '{"version": 1}'])
def test_a_damaged_marker_is_said(folder: LocalFolder, text: str) -> None:
    folder.publish("landing.json", text)
    with pytest.raises(PipelineError, match=r"landing.json cannot be read"):
        read_marker(folder)


def test_a_folder_with_something_else_in_it_is_no_checkpoint(folder: LocalFolder) -> None:
    folder.publish("offsets/0", "of a stream of somebody's own")
    with pytest.raises(PipelineError, match="is no checkpoint of a landing"):
        read_marker(folder)


def test_a_topic_belongs_to_one_landing(folder: LocalFolder) -> None:
    first, second = (Claims(folder, "c", name, f"/checkpoints/{name}") for name in "ab")
    first.claim(["t", "u"])
    first.claim(["t"])
    with pytest.raises(PipelineError, match="t lands in this lake already, with the checkpoint /c"):
        second.claim(["t"])
    Claims(folder, "another cluster", "b", "").claim(["t"])
    assert second.claim(["t", "v"], take_over=True) == {"a"}
    assert second.claim(["t"], take_over=True) == set()
    with pytest.raises(PipelineError, match="/checkpoints/b"):
        first.claim(["t"])
    first.claim(["u"])


def test_a_landing_without_topic_ids_goes_on_with_what_it_wrote_for_none(
    folder: LocalFolder,
) -> None:
    made = new_marker("cluster", Selection(("a",)))
    write_marker(folder, replace(made, topic_ids={"a": "A" * 22, "b": "id"}))
    marker = read_marker(folder)
    assert marker is not None and marker.topic_ids == {"a": None, "b": "id"}


def test_a_landing_that_is_refused_has_claimed_nothing(folder: LocalFolder) -> None:
    Claims(folder, "c", "other", "/checkpoints/other").claim(["b"])
    mine = Claims(folder, "c", "mine", "/checkpoints/mine")
    mine.claim(["z"])
    with pytest.raises(PipelineError, match="b lands in this lake already"):
        mine.claim(["a", "z", "b", "d"])
    assert folder.names("_topics/c") == ["b.json", "z.json"]
    Claims(folder, "c", "new", "/checkpoints/mine").claim(["a"])


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_a_damaged_claim_is_said(folder: LocalFolder, text: str) -> None:
    folder.publish("_topics/c/t.json", text)
    with pytest.raises(PipelineError, match=r"_topics/c/t.json cannot be read: it is damaged"):
        Claims(folder, "c", "mine", "").claim(["t"])
