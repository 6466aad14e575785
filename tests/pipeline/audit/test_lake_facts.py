"""Files of a lake against what entries say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from barnabas.pipeline.audit.lake_facts import FileHolds, file_faults, time_range, without_outliers
from barnabas.pipeline.audit.lake_side import LakeView, joined, path_in_lake
from barnabas.pipeline.audit.parts import PartKey
from barnabas.pipeline.lake.entries import Entry, Held, LandedFile, state_of
from barnabas.pipeline.lake.folders import LocalFolder

FOLDER = "topic=orders/date=2026-03-01"
KEY = PartKey("orders", "id", 0)


def file(name: str, first: int, last: int) -> LandedFile:
    rows = last - first + 1
    return LandedFile(f"{FOLDER}/{name}.parquet", rows, 100, "id", {0: Held(first, last, rows)})


def view(
    files: Sequence[LandedFile], sizes: dict[str, int], times: int = 1, start: int = 0
) -> LakeView:
    read = {"orders": {0: (start, 20)}}
    entry = Entry("landing", 0, "cluster", 0, {"orders": "id"}, read, tuple(files))
    named = {each.path: times for each in files}
    placed = {f"{FOLDER}/{name}.parquet": size for name, size in sizes.items()}
    return LakeView(LocalFolder(Path("/lake")), state_of([entry]), named, placed, ["orders"])


def holds(name: str, first: int, last: int) -> FileHolds:
    times = (0, 1)
    return FileHolds(f"{FOLDER}/{name}.parquet", KEY, last - first + 1, first, last, times)


def test_files_that_are_as_their_entries_say_are_no_fault() -> None:
    seen = view([file("a", 0, 9)], {"a": 100})
    assert file_faults(seen, [holds("a", 0, 9)]) == ([], {})


def test_a_file_that_is_gone_damages_its_offsets() -> None:
    faults, damaged = file_faults(view([file("a", 0, 9)], {}), [])
    assert [(fault.what, fault.rows) for fault in faults] == [("it is gone", 10)]
    assert damaged == {KEY: [(0, 10)]}


def test_a_file_with_fewer_rows_damages_its_offsets() -> None:
    seen = view([file("a", 0, 9)], {"a": 100})
    faults, damaged = file_faults(seen, [holds("a", 0, 5)])
    assert faults[0].what == "it has 6 rows where its entry says 10"
    assert damaged == {KEY: [(0, 10)]}


def test_a_file_of_another_size_was_written_again() -> None:
    faults, damaged = file_faults(view([file("a", 0, 9)], {"a": 99}), [holds("a", 0, 9)])
    assert faults[0].what == "it has 99 bytes where its entry says 100"
    assert damaged == {}


def test_a_file_that_entries_name_twice_is_a_fault() -> None:
    faults, _ = file_faults(view([file("a", 0, 9)], {"a": 100}, 2), [holds("a", 0, 9)])
    assert faults[0].what == "entries name it 2 times"


def test_an_unnamed_file_is_a_fault_among_what_has_landed_and_unfinished_beyond() -> None:
    seen = view([file("a", 0, 9)], {"a": 100, "copy": 100, "new": 100})
    faults, _ = file_faults(seen, [holds("a", 0, 9), holds("copy", 0, 9), holds("new", 20, 29)])
    assert [fault.path for fault in faults] == [f"{FOLDER}/copy.parquet"]


def test_the_file_of_an_entry_that_is_lost_is_a_fault_below_what_other_entries_say() -> None:
    """Flow: of two batches the entry of the first is lost; its file lies below what has landed."""
    seen = view([file("b", 10, 19)], {"a": 100, "b": 100}, start=10)
    faults, _ = file_faults(seen, [holds("a", 0, 9), holds("b", 10, 19)])
    assert [(fault.path, fault.what, fault.rows) for fault in faults] == [
        (f"{FOLDER}/a.parquet", "no entry of the lake names it", 10)
    ]


def test_the_file_of_an_entry_that_is_lost_between_others_is_a_fault() -> None:
    other = Entry("landing", 2, "cluster", 0, {"orders": "id"}, {"orders": {0: (30, 40)}})
    first = view([file("a", 0, 19)], {"a": 100, "lost": 100})
    entry = Entry("landing", 0, "cluster", 0, {"orders": "id"}, {"orders": {0: (0, 20)}})
    seen = replace(first, state=state_of([entry, other]), times_named={})
    faults, _ = file_faults(seen, [holds("lost", 20, 29)])
    assert [fault.path for fault in faults] == [f"{FOLDER}/lost.parquet"]


def test_a_compaction_that_comes_between_is_noticed() -> None:
    merged = view([file("ab", 0, 19)], {"ab": 100})
    before = view([file("a", 0, 9), file("b", 10, 19)], {"a": 100, "b": 100})
    assert before.is_overtaken(merged)
    moved = view([file("a", 0, 9), file("b", 10, 19)], {"a": 100, "b": 100, "ab": 100})
    assert moved.is_overtaken(view([file("ab", 0, 19)], {"a": 100, "b": 100, "ab": 100}))
    assert not before.is_overtaken(before)
    assert not moved.is_overtaken(moved)


def test_ranges_that_touch_are_one_and_empty_ones_none() -> None:
    assert joined([(5, 9), (0, 3), (3, 5), (7, 7), (12, 14)]) == ((0, 9), (12, 14))


def test_a_path_with_a_blank_is_found_again() -> None:
    folder = LocalFolder(Path("/my lake"))
    assert path_in_lake(folder, "file:///my%20lake/topic=a/b.parquet") == "topic=a/b.parquet"


def test_a_stray_timestamp_does_not_stretch_the_axis() -> None:
    assert without_outliers(0, 5000, 10, 4990) == (0, 5001)
    assert without_outliers(-1, 10**15, 1_000_000, 1_100_000) == (1_000_000, 1_100_001)
    assert time_range([]) is None
