"""What a replay is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.pipeline.replay.plan import EXACTLY_ONCE, IDEMPOTENT
from barnabas.pipeline.replay.selection import Selection


@dataclass(frozen=True)
class Request:
    """What is to be replayed, where to, and how. `targets`: source topic -> target topic."""

    selection: Selection
    targets: Mapping[str, str]
    exactly_once: bool = False
    with_timestamps: bool = True
    append: bool = False
    create: bool = False
    config: Mapping[str, str] = field(default_factory=dict)  # of created topics
    per_second: float | None = None

    def identity(self, lake_uri: str) -> dict[str, Any]:
        """What two runs of one replay have in common."""
        return {
            "lake": lake_uri,
            "selection": self.selection.to_json(),
            "targets": dict(sorted(self.targets.items())),
            "mode": EXACTLY_ONCE if self.exactly_once else IDEMPOTENT,
            "with_timestamps": self.with_timestamps,
        }
