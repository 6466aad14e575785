"""What a replay set out to do, as its checkpoint keeps it: a run that goes on does the same.

The plan names every partition that is replayed, how many rows of the lake that is, and where the
target ended before. How far it has come is not in it: that is in the cluster, where it cannot
disagree with what has been written.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import topic_id_in

EXACTLY_ONCE = "exactly once"
IDEMPOTENT = "idempotent"
FORMAT = 1


@dataclass(frozen=True)
class Part:
    """One partition of one topic of the lake, and where its rows go."""

    topic: str
    topic_id: str
    partition: int
    target: str
    target_id: str
    rows: int
    first: int  # the offsets of the first and of the last row
    last: int
    base: int  # the offset at which the target partition ended before

    @property
    def name(self) -> str:
        return f"{self.target}-{self.partition}"


@dataclass(frozen=True)
class Plan:
    """A replay. `request` is what was asked for, in JSON; two runs of one replay have it equal."""

    replay_id: str
    mode: str
    cluster_id: str
    request: dict[str, Any]
    parts: tuple[Part, ...]
    begun: bool = False  # where each part begins is known to the cluster
    finished: bool = False

    @property
    def group(self) -> str:
        """The consumer group whose offsets say how far each partition has come."""
        return f"barnabas-replay-{self.replay_id}"

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    def as_begun(self) -> "Plan":
        return replace(self, begun=True)

    def as_finished(self) -> "Plan":
        return replace(self, finished=True)

    def to_json(self) -> str:
        """The text of the checkpoint."""
        kept = {"format": FORMAT, **asdict(self)}
        return json.dumps(kept, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """The plan of a checkpoint; PipelineError where the text is none."""
        try:
            kept = json.loads(text)
            if kept.pop("format") != FORMAT:
                raise ValueError("of another format")
            parts = tuple(_part(part) for part in kept.pop("parts"))
            return cls(**kept, parts=parts)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PipelineError(
                f"the checkpoint holds no plan of a replay ({error}); --checkpoint names another"
            ) from error


def _part(kept: dict[str, Any]) -> Part:
    return Part(**{**kept, "topic_id": topic_id_in(kept["topic_id"]) or ""})


def digest_of(request: dict[str, Any]) -> str:
    """A short name for what is asked for: the same for the same request."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:12]


def differences(ours: dict[str, Any], kept: dict[str, Any]) -> Sequence[str]:
    """The names of what two requests differ in."""
    return [name for name in sorted({*ours, *kept}) if ours.get(name) != kept.get(name)]
