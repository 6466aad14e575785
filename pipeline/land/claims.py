"""Which landing a topic belongs to: a file for each topic of each cluster in the lake.

Two landings of one topic would land its records twice. A landing claims a topic before the
first batch with records of it; of two that claim it at once one is told that it came second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from barnabas.pipeline.lake.folders import Folder
from barnabas.pipeline.lake.log import legible
from barnabas.pipeline.spark.failures import PipelineError

CLAIMS = "_topics"


def claim_path(cluster_id: str, topic: str) -> str:
    """Where it stands whose topic it is."""
    return f"{CLAIMS}/{cluster_id or 'unknown'}/{topic}.json"


class Claims:
    """What one landing may land."""

    def __init__(self, lake: Folder, cluster_id: str, landing_id: str, checkpoint: str) -> None:
        self._lake, self._cluster_id = lake, cluster_id
        self._mine = {"landing_id": landing_id, "checkpoint": checkpoint}

    def claim(self, topics: Iterable[str], *, take_over: bool = False) -> set[str]:
        """Make the topics this landing's; PipelineError where one is another's.

        `take_over` takes it from the other, which stops at its next batch: the ids of those
        that something was taken from. A landing that is refused has claimed nothing: whoever
        leaves out the topic that was taken could not land the others with a new checkpoint.
        """
        taken_from: set[str] = set()
        new: list[str] = []
        for topic in topics:
            path = claim_path(self._cluster_id, topic)
            if self._lake.publish(path, json.dumps(self._mine)):
                new.append(path)
                continue
            holder = self._holder(path)
            if self._is_mine(holder):
                continue
            if not take_over:
                self._release(new)
                raise PipelineError(_taken(topic, holder))
            self._lake.replace(path, json.dumps(self._mine))
            taken_from.add(holder["landing_id"])
        return taken_from

    def _release(self, paths: Iterable[str]) -> None:
        for path in paths:
            if self._is_mine(self._holder(path)):  # not taken over meanwhile
                self._lake.delete(path)

    def _is_mine(self, holder: dict[str, str]) -> bool:
        return holder["landing_id"] == self._mine["landing_id"]

    def _holder(self, path: str) -> dict[str, str]:
        with legible(self._lake, path):
            holder = json.loads(self._lake.read(path))
            return {name: str(holder[name]) for name in self._mine}


def _taken(topic: str, holder: dict[str, str]) -> str:
    return (
        f"{topic} lands in this lake already, with the checkpoint {holder['checkpoint']}: go on "
        "with that one, or end that landing and say --take-over to go on where it ended"
    )
