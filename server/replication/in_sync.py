"""What a leader knows of its followers, and what follows from it: pure decisions.

A follower that fetches at an offset holds everything below. It has *caught up* when it fetches
where the leader's log ends, or where that ended at its fetch before: so one that is always a few
records behind a busy leader counts as caught up, too.

Source: Kafka's Replica and Partition.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Final

UNKNOWN: Final = -1
"""A follower's offset before it has fetched from this leader."""
NEVER_MS: Final = -math.inf
NO_BROKER_EPOCH: Final = -1


class Follower:
    """How far one follower has come; times are of the monotonic clock."""

    __slots__ = (
        "broker_epoch",
        "last_caught_up_ms",
        "last_fetch_ms",
        "last_leader_end",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self) -> None:
        self.log_end_offset = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.last_leader_end = UNKNOWN
        """Where the leader's log ended at the last fetch."""
        self.last_fetch_ms = NEVER_MS
        self.last_caught_up_ms = NEVER_MS
        self.broker_epoch = NO_BROKER_EPOCH

    def fetched(
        self,
        fetch_offset: int,
        log_start_offset: int,
        leader_end: int,
        broker_epoch: int,
        now_ms: float,
    ) -> None:
        """It has fetched; `leader_end` is where the leader's log ended when it was read."""
        if fetch_offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_leader_end = max(self.last_leader_end, leader_end)
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def leader_elected(self, leader_end: int, is_in_sync: bool, now_ms: float) -> None:
        """The leader it has fetched from leads on, in a new epoch.

        One out of sync does not hold the high watermark back before it has fetched.
        """
        self.last_leader_end = leader_end
        self.last_fetch_ms = self.last_caught_up_ms = now_ms if is_in_sync else NEVER_MS

    def is_caught_up(self, leader_end: int, now_ms: float, max_lag_ms: float) -> bool:
        """Whether it holds all there is, or did no longer ago than it may lag behind."""
        return self.log_end_offset == leader_end or now_ms - self.last_caught_up_ms <= max_lag_ms


Followers = Mapping[int, Follower]
IsAlive = Callable[[int], bool]


def high_watermark(
    leader_end: int,
    followers: Followers,
    maximal_isr: Collection[int],
    is_alive: IsAlive,
    now_ms: float,
    max_lag_ms: float,
) -> int:
    """The lowest log end offset of the replicas that have to have a record for it to be committed.

    Those are the in-sync ones, those about to join them, and those that could: if they were not
    waited for, one that fetches a little behind a leader alone would never come to join.
    """
    lowest = leader_end
    for replica_id, follower in followers.items():
        if follower.log_end_offset < lowest and (
            replica_id in maximal_isr
            or (follower.is_caught_up(leader_end, now_ms, max_lag_ms) and is_alive(replica_id))
        ):
            lowest = follower.log_end_offset
    return lowest


def may_join(follower: Follower, high_watermark: int, epoch_start_offset: int) -> bool:
    """Whether a follower has all that is committed.

    What the leader had when it was elected may be committed already without its knowing.
    """
    return follower.log_end_offset >= max(high_watermark, epoch_start_offset)


def lagging(
    isr: Collection[int],
    local_id: int,
    followers: Followers,
    leader_end: int,
    now_ms: float,
    max_lag_ms: float,
) -> frozenset[int]:
    """The in-sync replicas that are it no longer: stuck, slow, or not even assigned."""
    return frozenset(
        replica_id
        for replica_id in isr
        if replica_id != local_id
        and (
            replica_id not in followers
            or not followers[replica_id].is_caught_up(leader_end, now_ms, max_lag_ms)
        )
    )


def low_watermark(log_start_offset: int, followers: Followers, is_alive: IsAlive) -> int:
    """Below this every live replica has deleted."""
    lowest = log_start_offset
    for replica_id, follower in followers.items():
        if follower.log_start_offset < lowest and is_alive(replica_id):
            lowest = follower.log_start_offset
    return lowest
