"""Giving partitions their leaders: decided by `elections`, written to the registry by its epochs.

Followers do not fetch yet, so the in-sync set of a partition is its leader alone; where that is
gone nobody can lead until it is back.
"""

from collections.abc import Callable, Collection, Mapping

from barnabas.server.cluster.elections import elected, first_state
from barnabas.server.cluster.metadata import NO_LEADER, PartitionInfo, TopicInfo
from barnabas.server.registry.bodies import PartitionState, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.partitions import Partitions, VersionedState
from barnabas.wire.uuids import ZERO_UUID

NO_STATE = PartitionState(NO_LEADER, -1, [], 0)

States = dict[tuple[str, int], VersionedState]
Assignments = Mapping[str, TopicAssignment]


async def create_states(
    partitions: Partitions,
    assignments: Assignments,
    states: States,
    live: Collection[int],
    epoch: ControllerEpoch,
) -> None:
    """Add the first states of partitions that have none: the first live replica leads.

    Raises ControllerMoved, and the ZnodeError of one that was refused: somebody else has made
    it, or its topic is gone, so look again.
    """
    fresh = {
        (name, index): state
        for name, topic in assignments.items()
        for index, replicas in topic.replicas.items()
        if (name, index) not in states
        and (state := first_state(replicas, live, epoch.epoch)) is not None
    }
    if not fresh:
        return
    for refusal in (await partitions.create(fresh, epoch)).values():
        raise refusal
    states.update({key: VersionedState(state, 0) for key, state in fresh.items()})


async def elect_leaders(
    partitions: Partitions,
    assignments: Assignments,
    states: States,
    live: Collection[int],
    epoch: ControllerEpoch,
    begins_anew: Callable[[PartitionState], bool],
) -> None:
    """Replace the leaders that are gone, and begin a new epoch where `begins_anew` says so.

    Raises ControllerMoved, and the ZnodeError of a state that somebody else has written, or
    whose topic is gone, so look again.
    """
    changed = {}
    for (name, index), versioned in states.items():
        state, replicas = versioned.state, assignments[name].replicas[index]
        if state.leader in live and not begins_anew(state):
            continue
        following = elected(state, replicas, live, epoch.epoch)
        if following is not None:
            changed[name, index] = VersionedState(following, versioned.partition_epoch)
    if not changed:
        return
    outcomes = await partitions.write(changed, epoch)
    for key, outcome in outcomes.items():
        if not isinstance(outcome, int):
            raise outcome
        states[key] = VersionedState(changed[key].state, outcome)


def topic_info(
    name: str, topic: TopicAssignment, states: States, live: Collection[int]
) -> TopicInfo:
    """What clients are told of a topic; a partition without a state has no leader."""
    infos = []
    for index, replicas in sorted(topic.replicas.items()):
        versioned = states.get((name, index))
        state = versioned.state if versioned else NO_STATE
        leader, epoch, isr = state.leader, state.leader_epoch, tuple(state.isr)
        offline = tuple(replica for replica in replicas if replica not in live)
        infos.append(PartitionInfo(index, leader, epoch, tuple(replicas), isr, offline))
    return TopicInfo(name, topic.topic_id or ZERO_UUID, tuple(infos))


def led_part(name: str, topic: TopicAssignment, states: States) -> TopicAssignment | None:
    """The partitions that the controller has given a state, up to the first that waits for it."""
    replicas = {}
    for index in sorted(topic.replicas):
        if (name, index) not in states:
            break
        replicas[index] = topic.replicas[index]
    return topic._replace(replicas=replicas) if replicas else None
