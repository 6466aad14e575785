"""Who leads: pure decisions, state in, state out (Kafka's PartitionLeaderElectionAlgorithms)."""

from collections.abc import Collection, Sequence

from barnabas.server.cluster.metadata import NO_LEADER, PartitionInfo
from barnabas.server.core.errors import ApiError
from barnabas.server.registry.bodies import PartitionState
from barnabas.wire.error_codes import ErrorCode

FIRST_LEADER_EPOCH = 0


def offline_leader(
    replicas: Sequence[int], isr: Collection[int], live: Collection[int], unclean: bool
) -> tuple[int, bool]:
    """The first live in-sync replica in order of assignment; else, if `unclean`, any live one.

    Returns (leader or NO_LEADER, whether it was not in sync and records may be lost).
    """
    for replica in replicas:
        if replica in live and replica in isr:
            return replica, False
    if unclean:
        for replica in replicas:
            if replica in live:
                return replica, True
    return NO_LEADER, False


def first_state(
    replicas: Sequence[int], live: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """The state of a new partition: the first live replica leads, and is in sync alone.

    None while no replica lives: the partition stays new until one does.
    """
    leader, _ = offline_leader(replicas, replicas, live, unclean=False)
    if leader == NO_LEADER:
        return None
    return PartitionState(leader, FIRST_LEADER_EPOCH, [leader], controller_epoch)


def elected(
    state: PartitionState, replicas: Sequence[int], live: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """The state after an election; None where nobody leads and nobody can.

    Without a leader the in-sync set stays: one of these has to come back.
    """
    leader, _ = offline_leader(replicas, state.isr, live, unclean=False)
    if leader == NO_LEADER == state.leader:
        return None
    return state._replace(
        leader=leader,
        leader_epoch=state.leader_epoch + 1,
        isr=state.isr if leader == NO_LEADER else [leader],
        controller_epoch=controller_epoch,
    )


def election_fault(info: PartitionInfo, live: Collection[int], unclean: bool) -> ApiError:
    """Why no election on request (preferred or unclean) is held among these brokers."""
    led = info.leader_id in live
    if led and (unclean or info.leader_id == info.replicas[0]):
        return ApiError(
            ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        )
    if unclean:
        return ApiError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    return ApiError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
