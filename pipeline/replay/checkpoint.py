"""Where a replay keeps its plan, so that it can be gone on with and is not done twice.

A replay that is done anew, its targets having been made again, gets a file of the next number.
Of two runs that begin at the same time one finds the number taken and writes nothing.
"""

from typing import TYPE_CHECKING

from barnabas.pipeline.replay.plan import Plan
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from barnabas.pipeline.lake.folders import Folder

PREFIX, SUFFIX = "replay-", ".json"


class Checkpoint:
    """The plans in a folder; the last one counts."""

    def __init__(self, folder: "Folder") -> None:
        self._folder = folder
        numbers = [
            int(name.removeprefix(PREFIX).removesuffix(SUFFIX))
            for name in folder.names()
            if name.startswith(PREFIX) and name.endswith(SUFFIX)
        ]
        self._number = max(numbers, default=-1)

    def read(self) -> Plan | None:
        """The plan; None where there is none yet."""
        return None if self._number < 0 else Plan.from_json(self._folder.read(self._path))

    def add(self, plan: Plan) -> None:
        """Keep a new plan; PipelineError if another run has just done so."""
        self._number += 1
        if not self._folder.publish(self._path, plan.to_json()):
            raise PipelineError(
                "another run of this replay has just begun; the same command goes on with it when "
                "that one has ended"
            )

    def update(self, plan: Plan) -> None:
        """Keep what has become of the plan."""
        self._folder.replace(self._path, plan.to_json())

    @property
    def _path(self) -> str:
        return f"{PREFIX}{self._number:05}{SUFFIX}"
