"""The states of a replica on this broker and every way from one to another.

    offline    nobody may read or append: just opened, deleted, or its disk has failed
    follower   another broker leads, or nobody does: clients are sent to look for the leader
    leader     this broker leads: it appends, and answers who reads

A replica starts offline and hears at once whether it leads or follows.
"""

from enum import Enum


class ReplicaState(Enum):
    """What this broker is to a partition."""

    OFFLINE = "offline"
    FOLLOWER = "follower"
    LEADER = "leader"


class ReplicaEvent(Enum):
    """What moves a replica."""

    ELECTED = "the controller names this broker as the leader"
    DEMOTED = "the controller names another leader, or none"
    LOST = "the partition was deleted, or its disk failed"


TRANSITIONS: dict[tuple[ReplicaState, ReplicaEvent], ReplicaState] = {
    **{(state, ReplicaEvent.ELECTED): ReplicaState.LEADER for state in ReplicaState},
    **{(state, ReplicaEvent.DEMOTED): ReplicaState.FOLLOWER for state in ReplicaState},
    **{(state, ReplicaEvent.LOST): ReplicaState.OFFLINE for state in ReplicaState},
}
