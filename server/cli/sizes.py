"""How many bytes partitions have on their brokers (DescribeLogDirs)."""

from typing import Any

from barnabas.server.cli.connection import Cluster, unreachable
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.offsets import Place

Copy = tuple[str, int, int]  # topic, partition, broker


def directories_of(
    cluster: Cluster, brokers: set[int], topics: list[str] | None = None
) -> dict[int, list[dict[str, Any]]]:
    """The data directories of each broker that answers, with sizes; of all topics for None."""
    wanted: Any = None
    if topics is not None:
        known = cluster.topics(topics)
        wanted = {name: [p["partition_index"] for p in known[name]["partitions"]]
                  for name in topics if name in known}  # fmt: skip
    found: dict[int, list[dict[str, Any]]] = {}
    for broker in sorted(brokers):
        try:
            (said,) = cluster.admin.describe_log_dirs(wanted, [broker])
        except (*unreachable(), kafka("errors").IncompatibleBrokerVersion):
            continue
        found[broker] = said["log_dirs"]
    return found


def copies(directories: dict[int, list[dict[str, Any]]]) -> dict[Copy, int]:
    """The bytes of each partition on each broker; what is on its way to a directory is not in."""
    return {
        (topic["name"], each["partition_index"], broker): each["partition_size"]
        for broker, found in directories.items()
        for directory in found
        for topic in directory["topics"]
        for each in topic["partitions"]
        if not each["is_future_key"]
    }


def largest(found: dict[Copy, int]) -> dict[Place, int]:
    """The bytes of the largest copy of each partition."""
    sizes: dict[Place, int] = {}
    for (topic, partition, _), size_bytes in found.items():
        sizes[topic, partition] = max(size_bytes, sizes.get((topic, partition), 0))
    return sizes


def in_words(size_bytes: float) -> str:
    """1.5 MB, as people read it."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 999.5:
            return f"{size_bytes:.0f} B" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"
