"""A batch becomes part of the lake whole, whichever call of the file system a kill comes after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.pipeline.lake.entries import COMPACTIONS, Entry, Held, LandedFile, to_json
from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.lake.log import read_state
from barnabas.pipeline.land.commit import Plan, carry_out, commit, has_landed, recover, staging_path
from barnabas.pipeline.spark.failures import PipelineError

LANDING = "0123456789abcdef"
NAMES = ("a", "b", "c")
PLACES = [f"topic=t/date=2026-03-01/{LANDING}-{name}.parquet" for name in NAMES]


class Killed(BaseException):
    """The process ends here."""


class MortalFolder(LocalFolder):
    """Ends the process before its n-th change, or after it."""

    changes_left = 1_000
    after = False

    def _change(self, name: str, *arguments: str) -> bool:
        if self.changes_left == 0 and not self.after:
            raise Killed
        self.changes_left -= 1
        done = getattr(LocalFolder, name)(self, *arguments)
        if self.changes_left < 0:
            raise Killed
        return bool(done)

    def publish(self, path: str, text: str) -> bool:
        return self._change("publish", path, text)

    def move(self, path: str, target: str) -> None:
        self._change("move", path, target)

    def delete(self, path: str) -> None:
        self._change("delete", path)


def staged(folder: LocalFolder, run: str, batch: int = 0) -> Plan:
    """A batch of three files that was written."""
    staging = staging_path(LANDING, batch, run)
    for name in NAMES:
        LocalFolder(folder.root).publish(f"{staging}/{name}.parquet", f"{name} of {run}")
    files = tuple(LandedFile(place, 1, 1, "id", {0: Held(0, 0, 1)}) for place in PLACES)
    entry = Entry(LANDING, batch, "c", 0, {"t": "id"}, {"t": {0: (0, 3)}}, files)
    moves = tuple((f"{staging}/{n}.parquet", p) for n, p in zip(NAMES, PLACES, strict=True))
    return Plan(staging, moves, entry)


def data(folder: LocalFolder) -> list[str]:
    return sorted(path for path, _ in folder.walk() if path.startswith("topic="))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(8))
def test_a_kill_at_any_step_leaves_a_batch_that_is_done_again_or_carried_through(
    tmp_path: Path, step: int, after: bool
) -> None:
    mortal = MortalFolder(tmp_path)
    mortal.changes_left, mortal.after = step, after
    plan = staged(mortal, "first")
    try:
        commit(mortal, plan)
    except Killed:
        pass
    folder = LocalFolder(tmp_path)
    counted = {file.path for file in read_state(folder).files}
    assert counted in (set(), set(PLACES))
    assert counted <= set(data(folder))
    recover(folder, LANDING)
    if not has_landed(folder, LANDING, 0):
        assert data(folder) == []
        commit(folder, staged(folder, "second"))
    assert data(folder) == [file.path for file in read_state(folder).files] == PLACES
    assert len({folder.read(path).split()[-1] for path in PLACES}) == 1
    assert not [path for path, _ in folder.walk() if path.startswith("_staging")]


def test_every_step_was_killed(tmp_path: Path) -> None:
    mortal = MortalFolder(tmp_path)
    commit(mortal, staged(mortal, "first"))
    assert 1_000 - mortal.changes_left == 7


def test_of_two_runs_with_one_batch_the_first_plan_is_carried_out_by_both(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    first, second = staged(folder, "first"), staged(folder, "second")
    mortal = MortalFolder(tmp_path)
    mortal.changes_left, mortal.after = 2, True
    with pytest.raises(Killed):
        commit(mortal, first)
    assert not commit(folder, second)
    assert {folder.read(path).split()[-1] for path in PLACES} == {"first"}
    carry_out(folder, first)
    assert data(folder) == PLACES


def test_a_plan_whose_files_were_cleaned_up_is_undone(tmp_path: Path) -> None:
    folder = MortalFolder(tmp_path)
    folder.changes_left, folder.after = 2, True
    with pytest.raises(Killed):
        commit(folder, staged(folder, "first"))
    folder = LocalFolder(tmp_path)
    folder.delete(staging_path(LANDING, 0, "first"))
    recover(folder, LANDING)
    assert (data(folder), has_landed(folder, LANDING, 0)) == ([], False)


def test_what_was_written_without_a_plan_is_cleaned_up(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    staged(folder, "first")
    recover(folder, LANDING)
    assert list(folder.walk()) == []
    recover(folder, LANDING)


def test_a_batch_whose_files_are_taken_away_while_it_lands_is_not_taken_for_landed(
    tmp_path: Path,
) -> None:
    folder = LocalFolder(tmp_path)
    plan = staged(folder, "first")
    folder.delete(f"{plan.staging}/b.parquet")
    with pytest.raises(PipelineError, match="another process lands with this checkpoint"):
        commit(folder, plan)
    assert (data(folder), has_landed(folder, LANDING, 0)) == ([], False)


class StandingStill(LocalFolder):
    """Before its second move it stands still, and all else happens meanwhile."""

    moves = 0
    meanwhile: Callable[[], None]

    def move(self, path: str, target: str) -> None:
        self.moves += 1
        if self.moves == 2:
            self.meanwhile()
        super().move(path, target)


def compacted(folder: LocalFolder, number: int, *paths: str) -> None:
    """A compaction of these files is complete."""
    merged = f"topic=t/date=2026-03-01/merged-{number}.parquet"
    held = {0: Held(0, 0, 1)}
    added = (LandedFile(merged, len(paths), 1, "id", held),)
    entry = Entry(COMPACTIONS, number, "", 0, added=added, removed=paths)
    folder.publish(merged, "merged")
    folder.publish(entry.path, to_json(entry))
    for path in paths:
        folder.delete(path)


def test_a_plan_that_another_run_has_carried_through_is_not_undone(tmp_path: Path) -> None:
    folder, slow = LocalFolder(tmp_path), StandingStill(tmp_path)
    plan = staged(folder, "first")

    def meanwhile() -> None:
        recover(folder, LANDING)
        compacted(folder, 0, *PLACES[1:])

    slow.meanwhile = meanwhile
    assert commit(slow, plan)
    counting = [file.path for file in read_state(folder).files]
    assert (data(folder), PLACES[0] in counting) == (counting, True)


class Late(LocalFolder):
    """Another run's plan is gone before it is read."""

    def read(self, path: str) -> str:
        recover(LocalFolder(self.root), LANDING)
        return super().read(path)


def test_a_plan_that_has_just_been_carried_out_needs_nothing_more(tmp_path: Path) -> None:
    folder, mortal = LocalFolder(tmp_path), MortalFolder(tmp_path)
    mortal.changes_left, mortal.after = 0, True
    with pytest.raises(Killed):
        commit(mortal, staged(folder, "first"))
    assert not commit(Late(tmp_path), staged(folder, "second"))
    assert {folder.read(path).split()[-1] for path in PLACES} == {"first"}
