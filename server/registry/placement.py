"""Which brokers get the replicas of new partitions: Kafka's algorithm, as pure functions.

Copies what org.apache.kafka.admin.AdminUtils does. First replicas go round the brokers from a
start index; the others follow at a shift that grows by one with each round, so that the
partitions led by one broker have their followers spread over all others. With racks, brokers
are dealt out rack by rack in turn, and no rack gets a second replica before every rack has one.
Kafka draws start and shift at random; the caller does that here.
"""

from collections.abc import Mapping, Sequence

Racks = Mapping[int, str | None]
"""Live broker ids with their racks."""


class ImpossiblePlacement(Exception):
    """The replicas cannot be placed; the message is Kafka's kind (INVALID_REPLICATION_FACTOR)."""


def assign_replicas(
    racks: Racks,
    partition_count: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> dict[int, list[int]]:
    """Return the replicas of `partition_count` partitions from `first_partition` on.

    `start` and `shift` are any numbers from 0. Raises ImpossiblePlacement.
    """
    _require_possible(racks, partition_count, replication_factor)
    aware = any(rack is not None for rack in racks.values())
    ring = rack_alternated(racks) if aware else sorted(racks)
    rack_count = len(set(racks.values())) if aware else 0
    assignment: dict[int, list[int]] = {}
    for partition in range(first_partition, first_partition + partition_count):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        first = (partition + start) % len(ring)
        if aware:
            replicas = _across_racks(ring, racks, rack_count, first, shift, replication_factor)
        else:
            replicas = _round_the_ring(ring, first, shift, replication_factor)
        assignment[partition] = replicas
    return assignment


def assign_added_partitions(
    racks: Racks, existing: Mapping[int, Sequence[int]], partition_count: int
) -> dict[int, list[int]]:
    """Return the replicas of the partitions that bring a topic to `partition_count`.

    They go on where the first partition's first replica began, with its replication factor
    (AdminZkClient.createNewPartitionsAssignment). Raises ImpossiblePlacement.
    """
    pattern = existing[0]
    later = (index for index, broker in enumerate(sorted(racks)) if broker >= pattern[0])
    start = next(later, 0)
    return assign_replicas(
        racks,
        partition_count - len(existing),
        len(pattern),
        start=start,
        shift=start,
        first_partition=len(existing),
    )


def rack_alternated(racks: Racks) -> list[int]:
    """Return the brokers so that neighbours are in different racks as long as that works.

    One broker of each rack in turn, racks by name and brokers by number.
    """
    waiting: dict[str, list[int]] = {}
    for broker in sorted(racks, reverse=True):
        waiting.setdefault(racks[broker] or "", []).append(broker)
    ring: list[int] = []
    while len(ring) < len(racks):
        ring += [waiting[rack].pop() for rack in sorted(waiting) if waiting[rack]]
    return ring


def _require_possible(racks: Racks, partition_count: int, replication_factor: int) -> None:
    if partition_count <= 0:
        raise ImpossiblePlacement("Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise ImpossiblePlacement("Replication factor must be larger than 0.")
    if replication_factor > len(racks):
        raise ImpossiblePlacement(
            f"Replication factor: {replication_factor} larger than available brokers: {len(racks)}."
        )
    without = [broker for broker, rack in racks.items() if rack is None]
    if without and len(without) < len(racks):
        raise ImpossiblePlacement(
            "Not all brokers have rack information for replica rack aware assignment."
        )


def _round_the_ring(ring: list[int], first: int, shift: int, replication_factor: int) -> list[int]:
    followers = [
        ring[_follower(first, shift, number, len(ring))] for number in range(replication_factor - 1)
    ]
    return [ring[first], *followers]


def _across_racks(
    ring: list[int], racks: Racks, rack_count: int, first: int, shift: int, replication_factor: int
) -> list[int]:
    """Go round until enough brokers qualify: a new rack while there is one, a new broker always."""
    replicas = [ring[first]]
    used_racks = {racks[ring[first]]}
    number = 0
    while len(replicas) < replication_factor:
        broker = ring[_follower(first, shift * rack_count, number, len(ring))]
        number += 1
        new_rack = racks[broker] not in used_racks or len(used_racks) == rack_count
        if new_rack and broker not in replicas:
            replicas.append(broker)
            used_racks.add(racks[broker])
    return replicas


def _follower(first: int, shift: int, number: int, broker_count: int) -> int:
    """Return the place in the ring of the follower with this number; never the first's own."""
    return (first + 1 + (shift + number) % (broker_count - 1)) % broker_count
