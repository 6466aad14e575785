"""A compaction becomes part of the lake whole, whichever change a kill comes before or after."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.pipeline.lake.entries import Entry, Held, LandedFile, to_json
from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.lake.log import compaction_count, read_state
from barnabas.pipeline.land.compact_plan import (
    CompactPlan,
    carry_out,
    new_run_id,
    recover,
    write_plan,
)

from .test_commit import Killed, MortalFolder, StandingStill

FOLDER = "topic=t/date=2026-03-01"
LONG_AGO = "1700000000-run"
SMALL = [f"{FOLDER}/{name}.parquet" for name in "abc"]


def landed(path: str, rows: int = 1) -> LandedFile:
    return LandedFile(path, rows, 10, "id", {0: Held(0, rows - 1, rows)})


def lake_of_small_files(root: Path) -> LocalFolder:
    folder = LocalFolder(root)
    entry = Entry("l", 0, "c", 0, {}, {}, tuple(landed(path) for path in SMALL))
    folder.publish(entry.path, to_json(entry))
    for path in SMALL:
        folder.publish(path, "small")
    return folder


def written(folder: LocalFolder, run: str, small: list[str] = SMALL) -> CompactPlan:
    target = f"{FOLDER}/compacted-{run}.parquet"
    LocalFolder(folder.root).publish(f"_staging/compactions/{run}/bundle=0/x.parquet", "merged")
    moves = (("bundle=0/x.parquet", target),)
    return CompactPlan(run, moves, (landed(target, len(small)),), tuple(small))


def counted(folder: LocalFolder) -> list[str]:
    return [file.path for file in read_state(folder).files]


def data(folder: LocalFolder) -> list[str]:
    return sorted(path for path, _ in folder.walk() if path.startswith("topic="))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(9))
def test_readers_see_the_small_files_or_the_merged_one(
    tmp_path: Path, step: int, after: bool
) -> None:
    folder = lake_of_small_files(tmp_path)
    mortal = MortalFolder(tmp_path)
    mortal.changes_left, mortal.after = step, after
    plan = written(folder, LONG_AGO)
    try:
        write_plan(mortal, plan)
        carry_out(mortal, plan)
    except Killed:
        pass
    assert counted(folder) in (SMALL, [plan.added[0].path])
    assert set(counted(folder)) <= set(data(folder))
    recover(folder)
    assert data(folder) == counted(folder)
    assert not [path for path, _ in folder.walk() if path.startswith("_staging")]
    assert recover(folder) == 0


def test_every_step_was_killed(tmp_path: Path) -> None:
    lake_of_small_files(tmp_path)
    mortal = MortalFolder(tmp_path)
    plan = written(mortal, "run")
    write_plan(mortal, plan)
    carry_out(mortal, plan)
    assert 1_000 - mortal.changes_left == 8


def test_of_two_compactions_of_one_file_the_second_is_undone(tmp_path: Path) -> None:
    folder = lake_of_small_files(tmp_path)
    first, second = written(folder, "first"), written(folder, "second", SMALL[1:])
    write_plan(folder, first)
    write_plan(folder, second)
    assert carry_out(folder, first)
    assert not carry_out(folder, second)
    assert data(folder) == counted(folder) == [first.added[0].path]
    assert compaction_count(folder) == 1


def test_compactions_of_different_files_both_count(tmp_path: Path) -> None:
    folder = lake_of_small_files(tmp_path)
    first, second = written(folder, "first", SMALL[:1]), written(folder, "second", SMALL[1:])
    assert carry_out(folder, first) and carry_out(folder, second)
    assert data(folder) == counted(folder) == [first.added[0].path, second.added[0].path]


def test_a_plan_that_two_carry_out_counts_once(tmp_path: Path) -> None:
    folder = lake_of_small_files(tmp_path)
    plan = replace(written(folder, "run"), grace_s=60)
    write_plan(folder, plan)
    seen: list[bool] = []
    at_once = replace(plan, grace_s=0)
    carry_out(folder, plan, lambda _: seen.append(carry_out(LocalFolder(tmp_path), at_once)))
    assert seen == [True]
    assert (data(folder), compaction_count(folder)) == ([plan.added[0].path], 1)


def test_replaced_files_stay_until_readers_have_had_their_time(tmp_path: Path) -> None:
    folder = lake_of_small_files(tmp_path)
    plan = replace(written(folder, "run"), grace_s=60)
    seen: list[list[str]] = []
    carry_out(folder, plan, lambda _: seen.extend([counted(folder), data(folder)]))
    assert seen == [[plan.added[0].path], [*SMALL, plan.added[0].path]]


def test_what_another_compaction_is_writing_is_left_alone(tmp_path: Path) -> None:
    folder = lake_of_small_files(tmp_path)
    begun, foreign = new_run_id(), "somebody's own"
    for run in (begun, LONG_AGO, foreign):
        written(folder, run)
    assert recover(folder) == 0
    assert folder.names("_staging/compactions") == sorted([begun, foreign])


def test_whoever_comes_next_keeps_the_replaced_files_as_long_as_the_first_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake_of_small_files(tmp_path)
    plan = replace(written(folder, "run"), grace_s=60)
    write_plan(folder, plan)
    assert recover(folder) == 0
    assert (counted(folder), data(folder)) == ([plan.added[0].path], [*SMALL, plan.added[0].path])
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert recover(folder) == 1
    assert data(folder) == counted(folder) == [plan.added[0].path]


class Late(LocalFolder):
    """Another compaction's plan is gone before it is read."""

    def read(self, path: str) -> str:
        LocalFolder(self.root).delete("_staging")
        return super().read(path)


def test_a_plan_that_has_just_been_carried_out_is_no_error(tmp_path: Path) -> None:
    folder = lake_of_small_files(tmp_path)
    write_plan(folder, written(folder, "run"))
    assert recover(Late(tmp_path)) == 0


def test_a_plan_is_not_undone_whose_merged_file_was_merged_once_more(tmp_path: Path) -> None:
    folder, slow = lake_of_small_files(tmp_path), StandingStill(tmp_path)
    targets = [f"{FOLDER}/compacted-one-{number}.parquet" for number in range(2)]
    for number in range(2):
        folder.publish(f"_staging/compactions/both/{number}", "merged")
    moves = tuple((str(number), target) for number, target in enumerate(targets))
    plan = CompactPlan("both", moves, tuple(landed(each) for each in targets), tuple(SMALL))

    def meanwhile() -> None:
        assert carry_out(folder, plan)
        again = written(folder, "again", targets[1:])
        assert carry_out(folder, again)

    slow.meanwhile = meanwhile
    assert carry_out(slow, plan)
    assert data(folder) == counted(folder)
    assert targets[0] in counted(folder)
