from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.pipeline.lake.entries import Entry, to_json
from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.lake.log import compaction_count, read_state
from barnabas.pipeline.spark.failures import PipelineError

from .lakes import a_compaction, a_file, an_entry


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path)


def publish(folder: LocalFolder, *entries: Entry) -> None:
    for entry in entries:
        assert folder.publish(entry.path, to_json(entry))


def names(folder: LocalFolder) -> list[str]:
    return [file.path.rpartition("/")[2][:-8] for file in read_state(folder).files]


def test_an_empty_lake_holds_nothing(folder: LocalFolder) -> None:
    state = read_state(folder)
    assert (state.files, state.landings, state.last_batches) == ((), (), {})


def test_files_that_no_entry_names_and_unfinished_entries_do_not_count(folder: LocalFolder) -> None:
    publish(folder, an_entry(0, a_file("a"), offsets={0: (0, 10)}))
    folder.publish(a_file("b").path, "of a batch that was killed")
    folder.publish("_landed/7c9e6679/.00000000000000000001.json.ab.unfinished", "{")
    assert names(folder) == ["a"]


def test_a_later_compaction_is_not_seen_before_an_earlier_one(folder: LocalFolder) -> None:
    publish(
        folder,
        an_entry(0, a_file("a"), a_file("b"), offsets={0: (0, 10)}),
        a_compaction(1, a_file("abc"), a_file("ab"), a_file("c")),
        an_entry(1, a_file("c"), offsets={0: (10, 20)}),
    )
    assert (names(folder), compaction_count(folder)) == (["a", "b", "c"], 0)
    publish(folder, a_compaction(0, a_file("ab"), a_file("a"), a_file("b")))
    assert (names(folder), compaction_count(folder)) == (["abc"], 2)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2}', '{"version": 1}', '{"version": 1, "landing_id": []}']
)
def test_an_entry_that_is_damaged_or_of_a_later_barnabas_is_said(
    folder: LocalFolder, text: str
) -> None:
    publish(folder, an_entry(0, a_file("a"), offsets={0: (0, 10)}))
    path = an_entry(1, offsets={}).path
    folder.publish(path, text)
    with pytest.raises(PipelineError, match=f"{path} cannot be read: it is damaged, or of a later"):
        read_state(folder)


class Landing(LocalFolder):
    """A folder in which a batch lands and is compacted as soon as the compactions are listed."""

    happens: tuple[Entry, ...] = ()

    def names(self, path: str = "") -> list[str]:
        found = super().names(path)
        happening, self.happens = self.happens, ()
        publish(self, *happening)
        return found


def test_a_reader_beside_a_compaction_never_sees_a_record_in_no_file_or_in_two(
    tmp_path: Path,
) -> None:
    folder = Landing(tmp_path)
    publish(folder, an_entry(0, a_file("a"), offsets={0: (0, 10)}))
    folder.happens = (
        an_entry(1, a_file("b"), offsets={0: (10, 20)}),
        a_compaction(0, a_file("ab"), a_file("a"), a_file("b")),
    )
    assert names(folder) == ["a", "b"]
    assert names(folder) == ["ab"]
