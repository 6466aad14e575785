"""A batch becomes part of the lake: all of it or nothing, wherever a kill comes.

    _staging/<landing>/<batch>-<run>/    1. Spark writes the batch here
    _staging/<landing>/<batch>.json      2. the plan: which file goes where, and the entry
    topic=…/date=…/                      3. the files are moved to their places
    _landed/<landing>/<batch>.json       4. the entry: from now on they count
                                         5. the staging folder and the plan are removed

Before 2 the batch is done again, from 2 on it is carried through by whoever comes next, with
the very same files. So no file of a batch that is repeated lies beside one of its first run, and
readers that look at the folders alone see no record twice either. Two runs of one landing (the
JVM of a driver that was killed goes on for a moment) cannot both write a plan.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from barnabas.pipeline.lake.entries import STAGING, Entry, entry_path, from_json, to_json
from barnabas.pipeline.lake.folders import Folder, move_all
from barnabas.pipeline.lake.log import legible
from barnabas.pipeline.spark.failures import PipelineError

PLAN_SUFFIX = ".json"


@dataclass(frozen=True)
class Plan:
    """What is to be done with the files that were written for a batch."""

    staging: str
    moves: tuple[tuple[str, str], ...]  # (path, its place)
    entry: Entry

    @property
    def path(self) -> str:
        return plan_path(self.entry.landing_id, self.entry.batch)


def plan_path(landing_id: str, batch: int) -> str:
    """Where the plan of a batch is."""
    return f"{STAGING}/{landing_id}/{batch:020}{PLAN_SUFFIX}"


def staging_path(landing_id: str, batch: int, run_id: str) -> str:
    """Where a run writes a batch."""
    return f"{STAGING}/{landing_id}/{batch:020}-{run_id}"


def commit(lake: Folder, plan: Plan) -> bool:
    """Steps 2 to 5; False when another run's plan for the batch was there before.

    That one is carried out then. PipelineError when the batch has not landed: another run of
    this landing took its files for what a kill had left.
    """
    text = json.dumps(
        {"staging": plan.staging, "moves": plan.moves, "entry": json.loads(to_json(plan.entry))}
    )
    came_first = lake.publish(plan.path, text)
    if not (carry_out(lake, plan) if came_first else _carry_out_at(lake, plan.path)):
        raise PipelineError(
            f"batch {plan.entry.batch} was taken away while it landed: another process lands with "
            "this checkpoint, too; end one of them"
        )
    return came_first


def read_plan(lake: Folder, path: str) -> Plan:
    """A plan that was written; FileNotFoundError where it has been carried out since."""
    with legible(lake, path):
        read = json.loads(lake.read(path))
        moves = tuple((source, target) for source, target in read["moves"])
        return Plan(read["staging"], moves, from_json(json.dumps(read["entry"])))


def carry_out(lake: Folder, plan: Plan) -> bool:
    """Steps 3 to 5, from wherever a run before came to; False for a plan that had to be undone.

    That is one whose files have gone: somebody has cleaned up while it was written. A file that
    is missing says so only where there is still no entry: while this run stood still another
    may have carried the plan through, and a compaction replaced some of its files. The others
    count.
    """
    is_whole = lake.exists(plan.entry.path) or move_all(lake, plan.moves)
    if is_whole:
        lake.publish(plan.entry.path, to_json(plan.entry))
    elif not (is_whole := lake.exists(plan.entry.path)):
        for _, target in plan.moves:
            lake.delete(target)
    lake.delete(plan.staging)
    lake.delete(plan.path)
    return is_whole


def _carry_out_at(lake: Folder, path: str) -> bool:
    """The same for a plan that was there; one that has just gone another run has carried out."""
    try:
        plan = read_plan(lake, path)
    except FileNotFoundError:
        landing_id, _, name = path.removeprefix(f"{STAGING}/").partition("/")
        return has_landed(lake, landing_id, int(name.removesuffix(PLAN_SUFFIX)))
    return carry_out(lake, plan)


def recover(lake: Folder, landing_id: str) -> None:
    """Carry through what a run that was killed had planned, and clean up behind it."""
    below = f"{STAGING}/{landing_id}"
    for name in lake.names(below):
        if name.endswith(PLAN_SUFFIX) and not name.startswith("."):
            _carry_out_at(lake, f"{below}/{name}")
    lake.delete(below)


def has_landed(lake: Folder, landing_id: str, batch: int) -> bool:
    """Whether a batch is part of the lake."""
    return lake.exists(entry_path(landing_id, batch))
