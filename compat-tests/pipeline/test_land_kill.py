"""A short round of kill_landing; `scripts/pipeline-kill-landing` runs longer ones."""

from __future__ import annotations

from pathlib import Path

from oracles import require_package

from .kill_landing import KillRun


def test_kills_of_driver_and_broker_leave_every_offset_in_the_lake_once(tmp_path: Path) -> None:
    require_package("pyspark")
    run = KillRun(tmp_path, seed=3, victims=("driver", "broker"))
    run.run(kills=2)
