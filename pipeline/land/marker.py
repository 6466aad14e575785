"""Who a landing is: `landing.json` in its checkpoint folder.

Beside it is Spark's own checkpoint, `spark-<generation>`. Where a landing goes on in a way that
Spark's checkpoint cannot be told of (records that are lost, a topic made again, other topics),
a new generation begins, at the offsets at which the lake ends. The batches of a landing are
numbered through all generations, Spark's begin with 0 in each.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from barnabas.pipeline.lake.folders import Folder
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import topic_id_in

MARKER = "landing.json"
VERSION = 1
ID_DIGITS = 16


@dataclass(frozen=True)
class Selection:
    """Which topics land: by name, or by a Java pattern."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None

    def __str__(self) -> str:
        return ", ".join(self.topics) if self.pattern is None else f"pattern {self.pattern}"


@dataclass(frozen=True)
class Marker:
    """A landing, and where it is in Spark's checkpoints."""

    landing_id: str
    cluster_id: str
    selection: Selection
    generation: int = 0
    first_batch: int = 0  # the number of this generation's first batch
    topic_ids: Mapping[str, str | None] = field(default_factory=dict)  # when it last started

    @property
    def spark_checkpoint(self) -> str:
        return f"spark-{self.generation:05}"

    def next_generation(self, selection: Selection, first_batch: int) -> Marker:
        """The same landing with a new checkpoint of Spark's."""
        generation = self.generation + 1
        return replace(self, selection=selection, generation=generation, first_batch=first_batch)


def new_marker(cluster_id: str, selection: Selection) -> Marker:
    """A landing that there has not been before."""
    return Marker(uuid.uuid4().hex[:ID_DIGITS], cluster_id, selection)


def read_marker(checkpoint: Folder) -> Marker | None:
    """Whose checkpoint this is; None for a new one. PipelineError for somebody else's."""
    if not checkpoint.exists(MARKER):
        if others := [name for name in checkpoint.names() if not name.startswith(".")]:
            raise PipelineError(
                f"{checkpoint.uri} is no checkpoint of a landing (it has {others[0]} and no "
                f"{MARKER}): --checkpoint names a new folder, or that of an earlier landing"
            )
        return None
    try:
        read = json.loads(checkpoint.read(MARKER))
        if read.pop("version") != VERSION:
            raise ValueError
        chosen = read.pop("selection")
        selection = Selection(tuple(chosen["topics"]), chosen["pattern"])
        ids = {topic: topic_id_in(text) for topic, text in read.pop("topic_ids", {}).items()}
        return Marker(selection=selection, topic_ids=ids, **read)
    except (ValueError, KeyError, TypeError) as error:
        raise PipelineError(
            f"{checkpoint.uri}/{MARKER} cannot be read: it is damaged, or of another Barnabas"
        ) from error


def write_marker(checkpoint: Folder, marker: Marker) -> None:
    """Say whose checkpoint this is."""
    checkpoint.replace(MARKER, json.dumps({"version": VERSION, **asdict(marker)}))
