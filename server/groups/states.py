"""The states of a classic group and every way from one to another.

    Empty                no members; perhaps offsets
    PreparingRebalance   members are asked to join again, the join answers wait
    CompletingRebalance  a new generation has begun, its leader's assignment is awaited
    Stable               every member can have its assignment
    Dead                 deleted, expired, or moved to another broker: nothing leads out

A group starts Empty, or Stable when it is loaded with members.
"""

from enum import Enum


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
