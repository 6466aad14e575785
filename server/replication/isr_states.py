"""Changes of an in-sync set: what a leader asks for, and the states that leads through.

    committed   the set is the registry's
    expanding   a follower is to join: it counts already for the high watermark
    shrinking   some are to leave: they count until that is agreed

One change of a partition is under way at a time. What is refused for good leaves it where it is:
the controller knows more than this leader, and is about to say it.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from barnabas.server.core.clock import Clock
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid


class IsrState(Enum):
    """Whether a leader's in-sync set is as the registry has it."""

    COMMITTED = "committed"
    EXPANDING = "expanding"
    SHRINKING = "shrinking"


class IsrEvent(Enum):
    """What moves it."""

    CAUGHT_UP = "a follower has caught up"
    LAGGED = "followers have lagged behind"
    AGREED = "the change is in the registry"
    REFUSED = "the change was refused, and is not in the registry"
    TOLD = "the controller says who leads, and who is in sync"


TRANSITIONS: dict[tuple[IsrState, IsrEvent], IsrState] = {
    (IsrState.COMMITTED, IsrEvent.CAUGHT_UP): IsrState.EXPANDING,
    (IsrState.COMMITTED, IsrEvent.LAGGED): IsrState.SHRINKING,
    **{
        (state, event): IsrState.COMMITTED
        for state in (IsrState.EXPANDING, IsrState.SHRINKING)
        for event in (IsrEvent.AGREED, IsrEvent.REFUSED, IsrEvent.TOLD)
    },
    (IsrState.COMMITTED, IsrEvent.TOLD): IsrState.COMMITTED,
}
"""What is not here does not happen, or is passed over: an answer that comes too late."""

NOT_APPLIED: Final = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""Refusals after which the set is certainly what it was: it may be asked for again."""
FOR_GOOD: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Refusals that say the leader knows too little. Any other is repeated."""


class IsrChange:
    """A set that a leader asks for; `isr` with the broker epoch of each, -1 if not known."""

    __slots__ = (
        "broker_epochs",
        "controller_epoch",
        "isr",
        "key",
        "leader_epoch",
        "partition_epoch",
        "topic_id",
    )

    def __init__(
        self,
        key: tuple[str, int],
        topic_id: Uuid,
        isr: Sequence[int],
        broker_epochs: Sequence[int],
        *,
        leader_epoch: int,
        partition_epoch: int,
        controller_epoch: int,
    ) -> None:
        self.key = key
        self.topic_id = topic_id
        self.isr = isr
        self.broker_epochs = broker_epochs
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.controller_epoch = controller_epoch


class LeaderParts:
    """What all partitions have in common that are led here and have followers."""

    def __init__(
        self,
        clock: Clock,
        max_lag_ms: float,
        is_alive: Callable[[int], bool],
        submit: Callable[[IsrChange], None],
    ) -> None:
        """`max_lag_ms` is `replica.lag.time.max.ms`.

        `submit` has a change agreed on; the partition hears of it, but not before this returns.
        """
        self.clock = clock
        self.max_lag_ms = max_lag_ms
        self.is_alive = is_alive
        self.submit = submit
        self.expansions = self.shrinks = self.failures = 0
        """Changes that were agreed on, and refusals."""
