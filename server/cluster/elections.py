"""Who leads: pure decisions, state in, state out (Kafka's PartitionLeaderElectionAlgorithms)."""

from collections.abc import Collection, Sequence

from barnabas.server.cluster.metadata import NO_LEADER, PartitionInfo
from barnabas.server.core.errors import ApiError
from barnabas.wire.error_codes import ErrorCode


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
