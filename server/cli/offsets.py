"""Offsets of partitions: asking for them, and planning where a group is to go on."""

from barnabas.server.cli.connection import Cluster, kafka

EARLIEST = -2
LATEST = -1
Place = tuple[str, int]


def offsets_of(cluster: Cluster, places: list[Place], time_ms: int) -> dict[Place, int]:
    """For each partition the first offset at or after a time, or EARLIEST, or LATEST.

    A partition with nothing at or after the time has its end offset.
    """
    if not places:
        return {}
    partition = kafka().TopicPartition
    spec = kafka("protocol.consumer").OffsetSpec
    wanted: object = spec(time_ms) if time_ms < 0 else time_ms
    found = cluster.admin.list_partition_offsets({partition(*place): wanted for place in places})
    offsets = {(where.topic, where.partition): at.offset for where, at in found.items()}
    beyond = [place for place, offset in offsets.items() if offset < 0]
    if beyond:
        offsets.update(offsets_of(cluster, beyond, LATEST))
    return offsets
