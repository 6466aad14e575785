"""Who leads: pure decisions, state in, state out (Kafka's PartitionLeaderElectionAlgorithms).

`online` are the brokers whose replica may lead and be in sync: they live, are not stopping, and
their disks work. Every change begins a new leader epoch.

| what happens | who leads then | in sync then |
|---|---|---|
| the leader is not online | the first assigned replica that is online and in sync | those online |
| nobody in sync is online | nobody, or, while it is only stopping, the leader | as before |
| a follower is not online | the leader | those online |
| unclean, if allowed | the first online replica | the leader alone, unless it was in sync |
| preferred | the first assigned replica, if it is online and in sync | as before |
| reassigned | the leader if it stays, else the first of the target online and in sync | as before |
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.registry.bodies import PartitionState

FIRST_LEADER_EPOCH: Final = 0
RECOVERED, RECOVERING = 0, 1  # what a leader that was not in sync has to do (KIP-704)


def first_state(
    replicas: Sequence[int], online: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """The state of a new partition: the first replica online leads, and all online are in sync.

    None while no replica is: the partition stays new until one is.
    """
    leader = _first(replicas, online, replicas)
    if leader == NO_LEADER:
        return None
    in_sync = [each for each in replicas if each in online]
    return PartitionState(leader, FIRST_LEADER_EPOCH, in_sync, controller_epoch)


def settled(
    state: PartitionState,
    replicas: Sequence[int],
    online: Collection[int],
    controller_epoch: int,
    *,
    stopping: Collection[int] = (),
    begins_anew: bool = False,
) -> PartitionState | None:
    """What has to become of a partition by itself; None where it is as it should be.

    `stopping` are live brokers that want to lead no more. `begins_anew`: the leader has lost what
    it knew of its leadership, and nobody has noticed that it was gone.
    """
    in_sync = [each for each in state.isr if each in online and each in replicas]
    if state.leader in online and state.leader in replicas and not begins_anew:
        if len(in_sync) == len(state.isr) or state.leader not in in_sync:
            return None
        return _following(state, state.leader, in_sync, controller_epoch)
    leader = _first(replicas, online, in_sync)
    if leader != NO_LEADER:
        return _following(state, leader, in_sync, controller_epoch)
    if state.leader == NO_LEADER or (state.leader in stopping and state.leader in replicas):
        return None
    return _following(state, NO_LEADER, state.isr, controller_epoch)


def not_restarted(
    isr: Collection[int],
    online: Collection[int],
    epochs: Mapping[int, int],
    written_zxid: int | None,
) -> Collection[int]:
    """Those online that have not been registered anew since a state was written.

    A broker that has, unnoticed by a controller, may have lost power, and what it had not flushed:
    it is in sync again when it has fetched. Where nobody in sync is left without them they stay.
    `epochs` are the brokers', the transaction ids of their registrations; None: the state is the
    controller's own, who has seen every broker that came and went.
    """
    if written_zxid is None:
        return online
    sure = [each for each in online if epochs.get(each, 0) < written_zxid]
    return sure if any(each in isr for each in sure) else online


def unclean(
    state: PartitionState,
    replicas: Sequence[int],
    online: Collection[int],
    controller_epoch: int,
    *,
    recovers: bool,
) -> PartitionState | None:
    """The state with a leader at any price, one in sync if there is; None if nobody is online.

    `recovers`: brokers know that such a leader has to recover first (protocol 3.2 and newer).
    """
    clean = _first(replicas, online, state.isr)
    if clean != NO_LEADER:
        in_sync = [each for each in state.isr if each in online]
        return _following(state, clean, in_sync, controller_epoch)
    leader = _first(replicas, online, replicas)
    if leader == NO_LEADER:
        return None
    following = _following(state, leader, [leader], controller_epoch)
    return following._replace(leader_recovery_state=RECOVERING) if recovers else following


def preferred(
    state: PartitionState, replicas: Sequence[int], online: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """The state with the first assigned replica as leader; None if that cannot lead."""
    leader = _first(replicas[:1], online, state.isr)
    if leader == NO_LEADER:
        return None
    return _following(state, leader, state.isr, controller_epoch)


def reassigned(
    state: PartitionState, target: Sequence[int], online: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """The state once the target replicas are the only ones; None if none of them can lead."""
    leader = state.leader
    if leader not in target or leader not in online:
        leader = _first(target, online, state.isr)
    if leader == NO_LEADER:
        return None
    return _following(state, leader, state.isr, controller_epoch)


def without(state: PartitionState, replica: int, controller_epoch: int) -> PartitionState | None:
    """The state without a replica; None where it is not in sync, or is so alone and stays.

    What it leads nobody leads then.
    """
    if replica not in state.isr:
        return None
    leader = NO_LEADER if replica == state.leader else state.leader
    in_sync = [each for each in state.isr if each != replica] or state.isr
    return _following(state, leader, in_sync, controller_epoch)


def next_epoch(state: PartitionState, controller_epoch: int) -> PartitionState:
    """The same in a new leader epoch, so that brokers look at what else has changed."""
    return _following(state, state.leader, state.isr, controller_epoch)


def _first(replicas: Sequence[int], online: Collection[int], eligible: Collection[int]) -> int:
    """The first in order of assignment that is both; NO_LEADER if none is."""
    return next((each for each in replicas if each in online and each in eligible), NO_LEADER)


def _following(
    state: PartitionState, leader: int, isr: Sequence[int], controller_epoch: int
) -> PartitionState:
    return state._replace(
        leader=leader,
        leader_epoch=state.leader_epoch + 1,
        isr=list(isr),
        controller_epoch=controller_epoch,
    )
