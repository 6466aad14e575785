"""What partitions that are led need besides a log, in tests without a broker."""

from collections.abc import Collection

from barnabas.server.core.clock import Clock, ManualClock
from barnabas.server.replication.isr_states import IsrChange, LeaderParts

MAX_LAG_MS = 30_000.0


class AskedFor:
    """The changes of in-sync sets that partitions have asked for, and who is alive."""

    def __init__(self, clock: Clock | None = None, dead: Collection[int] = ()) -> None:
        self.changes: list[IsrChange] = []
        self.dead = set(dead)
        self.clock = clock or ManualClock()
        self.parts = LeaderParts(
            self.clock, MAX_LAG_MS, lambda each: each not in self.dead, self.changes.append
        )


def leader_parts() -> LeaderParts:
    """Where nobody looks at what is asked for."""
    return AskedFor().parts
