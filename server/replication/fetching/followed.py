"""A partition that is followed: how far, and what it waits for.

    truncating   its log may hold what its leader's does not: that is cut off first
    fetching     what follows its log is fetched
    failed       nothing more is done until the controller says something new

Beside that a partition may be delayed: its leader had an answer that is worth asking for again.
A leader that truncates by its answers to fetches (protocol 2.7 and newer) leaves a partition
fetching; with an older one every truncation is asked for, step by step.
"""

from enum import Enum
from typing import Final

from barnabas.server.replication.partition import Partition
from barnabas.wire.uuids import Uuid

FIRST_DELAY_MS: Final = 50.0
NO_EPOCH: Final = -1
UNKNOWN_LAG: Final = -1


class FollowerState(Enum):
    """What is done for a partition."""

    TRUNCATING = "truncating"
    FETCHING = "fetching"
    FAILED = "failed"


class FollowerEvent(Enum):
    """What becomes of it."""

    CUT = "its log is a beginning of its leader's, as far as epochs tell"
    CUT_IN_PART = "its log was cut, and may have to be cut further"
    FAILED = "its disk failed, its leader fenced it, or something unforeseen happened"


TRANSITIONS: Final = {
    (FollowerState.TRUNCATING, FollowerEvent.CUT): FollowerState.FETCHING,
    (FollowerState.TRUNCATING, FollowerEvent.CUT_IN_PART): FollowerState.TRUNCATING,
    (FollowerState.FETCHING, FollowerEvent.CUT): FollowerState.FETCHING,
    (FollowerState.FETCHING, FollowerEvent.CUT_IN_PART): FollowerState.FETCHING,
    (FollowerState.TRUNCATING, FollowerEvent.FAILED): FollowerState.FAILED,
    (FollowerState.FETCHING, FollowerEvent.FAILED): FollowerState.FAILED,
}


class Followed:
    """One partition, in one leader epoch; a newer epoch makes a new one."""

    __slots__ = (
        "_delay_ms", "fetch_offset", "key", "lag", "last_fetched_epoch", "leader_epoch",
        "not_before_ms", "partition", "state", "topic_id",
    )  # fmt: skip

    def __init__(self, partition: Partition, *, truncates_on_fetch: bool) -> None:
        log = partition.log
        latest_epoch = log.epochs.latest_epoch
        self.partition = partition
        self.key = partition.key
        self.topic_id: Uuid = partition.topic_id
        self.leader_epoch = partition.leader_epoch
        if truncates_on_fetch and latest_epoch >= 0:
            self.state = FollowerState.FETCHING
            self.fetch_offset = log.log_end_offset
            self.last_fetched_epoch = latest_epoch
        else:
            self.state = FollowerState.TRUNCATING
            self.fetch_offset = log.high_watermark
            self.last_fetched_epoch = NO_EPOCH
        self.lag = UNKNOWN_LAG
        """Records that the leader had beyond, when it was last heard."""
        self.not_before_ms = 0.0
        """Delayed until then, by the monotonic clock."""
        self._delay_ms = FIRST_DELAY_MS

    @property
    def is_in_sync(self) -> bool:
        """Whether the leader had nothing more when it was last heard."""
        return self.lag == 0

    def happen(self, event: FollowerEvent) -> None:
        """Go over to another state."""
        self.state = TRANSITIONS[self.state, event]

    def cut_to(self, offset: int, *, is_final: bool) -> None:
        """The log was truncated: go on there."""
        self.fetch_offset = offset
        self.last_fetched_epoch = self.partition.log.epochs.latest_epoch
        self.happen(FollowerEvent.CUT if is_final else FollowerEvent.CUT_IN_PART)

    def delay(self, now_ms: float, longest_ms: float) -> None:
        """Wait before the next try; longer each time, up to `replica.fetch.backoff.ms`.

        One that waits already does not wait longer.
        """
        if self.not_before_ms > now_ms:
            return
        self.not_before_ms = now_ms + min(self._delay_ms, longest_ms)
        self._delay_ms = min(self._delay_ms * 2, longest_ms)

    def answered(self) -> None:
        """The leader has answered what was asked."""
        self._delay_ms = FIRST_DELAY_MS
