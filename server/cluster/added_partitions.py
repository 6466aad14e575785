"""Growing a topic: which replicas its new partitions get, and why it cannot grow.

Source: kafka.server.ZkAdminManager.createPartitions and AdminZkClient.
"""

from collections.abc import Collection, Mapping, Sequence

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.core.errors import ApiError
from barnabas.server.registry.placement import ImpossiblePlacement, assign_added_partitions
from barnabas.wire.error_codes import ErrorCode

Assignment = Mapping[int, Sequence[int]]


def plan_partitions(
    existing: Assignment,
    count: int,
    manual: Sequence[Sequence[int]] | None,
    metadata: ClusterMetadata,
) -> dict[int, list[int]]:
    """The replicas of the partitions that bring a topic to `count`. Raises ApiError."""
    added = _added(existing, count)
    if manual is None:
        racks = {broker.broker_id: broker.rack for broker in metadata.brokers.values()}
        try:
            return assign_added_partitions(racks, existing, count)
        except ImpossiblePlacement as error:
            raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from None
    _check_manual(existing, added, manual, metadata.brokers)
    return {len(existing) + index: list(replicas) for index, replicas in enumerate(manual)}


def _added(existing: Assignment, count: int) -> int:
    added = count - len(existing)
    if added == 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS, f"Topic already has {len(existing)} partitions."
        )
    if added < 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic currently has {len(existing)} partitions, which is higher than the requested "
            f"{count}.",
        )
    return added


def _check_manual(
    existing: Assignment, added: int, manual: Sequence[Sequence[int]], brokers: Collection[int]
) -> None:
    if unknown := {broker for replicas in manual for broker in replicas} - set(brokers):
        names = ", ".join(map(str, sorted(unknown)))
        raise _bad(f"Unknown broker(s) in replica assignment: {names}.")
    if len(manual) != added:
        raise _bad(
            f"Increasing the number of partitions by {added} but {len(manual)} assignments "
            "provided."
        )
    factor = len(existing[0])
    for index, replicas in enumerate(manual, len(existing)):
        if not replicas:
            raise _bad(f"Cannot have replication factor of 0 for partition id {index}.")
        if len(set(replicas)) < len(replicas):
            names = ", ".join(map(str, replicas))
            raise _bad(
                f"Duplicate brokers not allowed in replica assignment: {names} for partition id "
                f"{index}."
            )
        if len(replicas) != factor:
            raise _bad(
                f"Inconsistent replication factor between partitions, partition 0 has {factor} "
                f"while partition {index} has {len(replicas)}."
            )


def _bad(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
