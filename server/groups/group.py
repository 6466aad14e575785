"""One group: its state, generation, members and offsets; the states it goes through.

    Empty                no members; perhaps offsets
    PreparingRebalance   members are asked to join again, the join answers wait
    CompletingRebalance  a new generation has begun, its leader's assignment is awaited
    Stable               every member can have its assignment
    Dead                 deleted, expired, or moved to another broker: nothing leads out

A group starts Empty, or Stable when it is loaded with members.
"""

from enum import Enum
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Timer
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.members import Member, Members
from barnabas.server.groups.offsets import Offsets
from barnabas.server.groups.protocols import (
    Protocols,
    metadata_for,
    select_protocol,
    subscribed_topics,
)
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.groups.shard import GroupShard

CONSUMER = "consumer"


class GroupState(Enum):
    """A state by the name that Kafka shows."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(Enum):
    """What moves a group."""

    REBALANCE = "a member joined, left, failed or changed what it speaks"
    ALL_JOINED = "every member joined again, or time ran out for the rest"
    NOBODY_LEFT = "the rebalance ended without members"
    ASSIGNED = "the leader's assignment is written"
    REMOVED = "the group was deleted, expired or unloaded"


TRANSITIONS: dict[tuple[GroupState, GroupEvent], GroupState] = {
    (GroupState.EMPTY, GroupEvent.REBALANCE): GroupState.PREPARING_REBALANCE,
    (GroupState.STABLE, GroupEvent.REBALANCE): GroupState.PREPARING_REBALANCE,
    (GroupState.COMPLETING_REBALANCE, GroupEvent.REBALANCE): GroupState.PREPARING_REBALANCE,
    (GroupState.PREPARING_REBALANCE, GroupEvent.ALL_JOINED): GroupState.COMPLETING_REBALANCE,
    (GroupState.PREPARING_REBALANCE, GroupEvent.NOBODY_LEFT): GroupState.EMPTY,
    (GroupState.COMPLETING_REBALANCE, GroupEvent.ASSIGNED): GroupState.STABLE,
    **{(state, GroupEvent.REMOVED): GroupState.DEAD for state in GroupState},
}


class ImpossibleTransition(Exception):
    """An event that the state does not know: a bug in whoever caused it."""


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """Where the event leads. Raises ImpossibleTransition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ImpossibleTransition(f"{event.name} in state {state.value}") from None


class Group:
    """A classic group, or a name under which offsets are kept (then it is always Empty).

    `protocol_type` is None until the first member comes. `state_timestamp_ms` is None for a
    group loaded from a record too old to hold it.
    """

    __slots__ = (
        "_subscribed",
        "generation",
        "group_id",
        "initial_delay",
        "join_timer",
        "members",
        "offsets",
        "protocol_name",
        "protocol_type",
        "shard",
        "state",
        "state_timestamp_ms",
        "sync_timer",
    )

    def __init__(self, group_id: str, shard: "GroupShard", now_ms: int | None) -> None:
        self.group_id = group_id
        self.shard = shard
        self.state = GroupState.EMPTY
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.members = Members()
        self.offsets = Offsets()
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None
        self.initial_delay: InitialDelay | None = None
        self._subscribed: tuple[int, set[str] | None] | None = None

    def move(self, event: GroupEvent, now_ms: int) -> None:
        """Go where the event leads. Raises ImpossibleTransition."""
        self.state = next_state(self.state, event)
        self.state_timestamp_ms = now_ms

    @property
    def is_dead(self) -> bool:
        """Whether the group was deleted or has moved away."""
        return self.state is GroupState.DEAD

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance can begin: it has not already, and the group lives."""
        return self.state in (
            GroupState.EMPTY,
            GroupState.STABLE,
            GroupState.COMPLETING_REBALANCE,
        )

    def accepts(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member that speaks these can join the ones that are there."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        return protocol_type == self.protocol_type and self.members.can_speak(protocols)

    def select_protocol(self) -> str:
        """What the members would agree on now."""
        return select_protocol([member.protocols for member in self.members.by_id.values()])

    def begin_generation(self, now_ms: int) -> None:
        """The rebalance is over: a new generation begins, or the group is Empty."""
        self.generation += 1
        self.members.to_sync.clear()
        if self.members.by_id:
            self.protocol_name = self.select_protocol()
            self.move(GroupEvent.ALL_JOINED, now_ms)
        else:
            self.protocol_name = None
            self.move(GroupEvent.NOBODY_LEFT, now_ms)

    def require_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member of these ids.

        Raises ApiError COORDINATOR_NOT_AVAILABLE (the group is dead), UNKNOWN_MEMBER_ID, or
        FENCED_INSTANCE_ID when somebody else has the instance id now (KIP-345).
        """
        if self.is_dead:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if instance_id is not None:
            current_id = self.members.static.get(instance_id)
            if current_id is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current_id != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.by_id.get(member_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def require_generation(self, generation: int) -> None:
        """Raises ApiError ILLEGAL_GENERATION unless it is the group's."""
        if generation != self.generation:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a consumer of the group reads the topic; True if that cannot be known."""
        topics = self.subscribed_topics()
        return topics is None or topic in topics

    def subscribed_topics(self) -> set[str] | None:
        """What the consumers of this generation subscribe to; None if they do not say."""
        if self.protocol_type != CONSUMER:
            return None
        if not self.members.by_id:
            return set()
        if self.protocol_name is None:
            return None
        if self._subscribed is None or self._subscribed[0] != self.generation:
            metadata = [
                metadata_for(member.protocols, self.protocol_name)
                for member in self.members.by_id.values()
            ]
            self._subscribed = self.generation, subscribed_topics(metadata)
        return self._subscribed[1]


class InitialDelay:
    """How long the first rebalance of an empty group may still be put off."""

    __slots__ = ("remaining_ms", "saw_new_member")

    def __init__(self, remaining_ms: float) -> None:
        self.remaining_ms = remaining_ms
        self.saw_new_member = False
