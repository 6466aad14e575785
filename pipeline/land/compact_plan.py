"""A compaction becomes part of the lake: merged files in the place of small ones, whole.

    _staging/compactions/<run>/…       1. Spark writes the merged files here
    _staging/compactions/<run>.json    2. the plan: what goes where, and what it replaces
    topic=…/date=…/                    3. the merged files are moved to their places
    _landed/compactions/<number>.json  4. the entry: from now on they count, and the others do not
                                       5. the replaced files are deleted
                                       6. the staging folder and the plan are removed

Readers through the entries see one or the other at every moment. Somebody who reads the folders
alone sees records twice between 3 and 5, a few milliseconds for each file, or until the next
compaction after a kill there. From 2 on a compaction is carried through by whoever comes next,
be the first one dead or not. So the plan says how long after 4 readers that have begun have the
replaced files: whoever comes meanwhile leaves 5 and 6 to the first, or to who comes later.

Entries are numbered without a gap, and two compactions cannot publish the same number: whoever
comes second looks whether the files that it would replace still count, and undoes its own
otherwise. So no record is ever in two merged files.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.pipeline.lake.entries import (
    COMPACTIONS,
    STAGING,
    Entry,
    LandedFile,
    from_json,
    to_json,
)
from barnabas.pipeline.lake.folders import Folder, move_all
from barnabas.pipeline.lake.log import (
    compaction_count,
    compaction_entry_path,
    legible,
    read_entry,
    read_state,
)

BELOW = f"{STAGING}/{COMPACTIONS}"
PLAN_SUFFIX = ".json"
RUN_ID_DIGITS = 12
LONGEST_RUN_S = 24 * 60 * 60  # one run writes a few gigabytes at most


@dataclass(frozen=True)
class CompactPlan:
    """What is to be done with merged files; they are named after the run, and nothing else is."""

    run_id: str
    moves: tuple[tuple[str, str], ...]  # (path below the run's staging folder, its place)
    added: tuple[LandedFile, ...]
    removed: tuple[str, ...]
    grace_s: int = 0  # how long the replaced files stay when they do not count any more

    @property
    def staging(self) -> str:
        return staging_path(self.run_id)

    @property
    def path(self) -> str:
        return self.staging + PLAN_SUFFIX

    def entry(self, number: int) -> Entry:
        """The entry, as the compaction of that number."""
        now_ms = time.time_ns() // 1_000_000
        return Entry(COMPACTIONS, number, "", now_ms, added=self.added, removed=self.removed)


def staging_path(run_id: str) -> str:
    """Where a run writes."""
    return f"{BELOW}/{run_id}"


def new_run_id() -> str:
    """A run's name, which says when it began: what it writes is left alone while it may live."""
    return f"{int(time.time())}-{uuid.uuid4().hex[:RUN_ID_DIGITS]}"


def _is_left_behind(name: str) -> bool:
    """Whether a staging folder is of a run that cannot be at work any more."""
    began, dash, _ = name.partition("-")
    return bool(dash) and began.isdigit() and time.time() - int(began) > LONGEST_RUN_S


def write_plan(lake: Folder, plan: CompactPlan) -> None:
    """Step 2."""
    entry = json.loads(to_json(plan.entry(0)))
    plan_ = {"run": plan.run_id, "moves": plan.moves, "entry": entry, "grace_s": plan.grace_s}
    lake.publish(plan.path, json.dumps(plan_))


def read_plan(lake: Folder, path: str) -> CompactPlan:
    """A plan that was written; FileNotFoundError where it has been carried out since."""
    with legible(lake, path):
        read = json.loads(lake.read(path))
        entry = from_json(json.dumps(read["entry"]))
        moves = tuple((source, target) for source, target in read["moves"])
        return CompactPlan(read["run"], moves, entry.added, entry.removed, read.get("grace_s", 0))


def carry_out(lake: Folder, plan: CompactPlan, wait: Callable[[float], None] = time.sleep) -> bool:
    """Steps 3 to 6, from wherever a run before came to; False for a compaction that was undone."""
    entry = _made_to_count(lake, plan)
    if entry is not None and (left_s := _grace_left_s(plan, entry)) > 0:
        wait(left_s)
    _clean_up(lake, plan, is_done=entry is not None)
    return entry is not None


def _made_to_count(lake: Folder, plan: CompactPlan) -> Entry | None:
    """Steps 3 and 4: the entry; None where it cannot be any more."""
    moves = [(f"{plan.staging}/{source}", target) for source, target in plan.moves]
    entry = _published(lake, plan)
    if entry is None and move_all(lake, moves):
        entry = _publish(lake, plan)
    # A file that is missing proves nothing: while this run stood still another may have carried
    # the plan through, and a later compaction merged that file once more.
    return entry or _published(lake, plan)


def _publish(lake: Folder, plan: CompactPlan) -> Entry | None:
    while (entry := _published(lake, plan)) is None:
        number = compaction_count(lake)
        counting = {file.path for file in read_state(lake).files}
        if not counting.issuperset(plan.removed):
            # Another compaction has replaced them, or has just published this very plan.
            return None
        lake.publish(compaction_entry_path(number), to_json(plan.entry(number)))
    return entry


def _published(lake: Folder, plan: CompactPlan) -> Entry | None:
    """The entry, if it is there: under which number is not in the plan."""
    wanted = plan.added[0].path
    for number in reversed(range(compaction_count(lake))):
        entry = read_entry(lake, compaction_entry_path(number))
        if any(file.path == wanted for file in entry.added):
            return entry
    return None


def _grace_left_s(plan: CompactPlan, entry: Entry) -> float:
    passed_s = time.time() - entry.landed_at_ms / 1000
    return plan.grace_s - max(passed_s, 0)  # of another machine's clock, perhaps


def _clean_up(lake: Folder, plan: CompactPlan, *, is_done: bool) -> None:
    """Steps 5 and 6."""
    for path in plan.removed if is_done else [target for _, target in plan.moves]:
        lake.delete(path)
    lake.delete(plan.staging)
    lake.delete(plan.path)


def recover(lake: Folder) -> int:
    """Carry through what other compactions had planned, and clean up behind those that died.

    How many there were. What one is still writing stays, and what one keeps for readers.
    """
    names = lake.names(BELOW)
    carried = sum(_carry_on(lake, f"{BELOW}/{name}") for name in names if _is_plan(name))
    for name in lake.names(BELOW):
        if not _is_plan(name) and _is_left_behind(name):
            lake.delete(f"{BELOW}/{name}")
    return carried


def _carry_on(lake: Folder, path: str) -> bool:
    """What can be done at once of a plan; whether that was all of it."""
    try:
        plan = read_plan(lake, path)
    except FileNotFoundError:
        return False
    entry = _made_to_count(lake, plan)
    if entry is not None and _grace_left_s(plan, entry) > 0:
        return False
    _clean_up(lake, plan, is_done=entry is not None)
    return True


def _is_plan(name: str) -> bool:
    return name.endswith(PLAN_SUFFIX) and not name.startswith(".")
