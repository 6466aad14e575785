"""Partitions as people name them, and their offsets."""

from barnabas.server.cli.connection import Cluster, check_topic_name, kafka
from barnabas.server.cli.failures import BadInput

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


def named_places(cluster: Cluster, texts: tuple[str, ...]) -> list[Place]:
    """The partitions that TOPIC or TOPIC:0,1 name. Failure or BadInput where there is none."""
    places: list[Place] = []
    for text in texts:
        name, colon, numbers = text.partition(":")
        check_topic_name(name)
        known = sorted(p["partition_index"] for p in cluster.topic(name)["partitions"])
        wanted = _numbers(numbers, text) if colon else known
        for number in wanted:
            if number not in known:
                raise BadInput(f"--topic: {name} has no partition {number}, only 0 to {known[-1]}")
        places += [(name, number) for number in wanted]
    return places


def _numbers(text: str, whole: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdigit() for part in parts):
        raise BadInput(f"--topic: {whole!r} is not TOPIC or TOPIC:PARTITION,…, as in orders:0,1")
    return [int(part) for part in parts]
