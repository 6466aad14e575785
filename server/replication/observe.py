"""What is known of partitions and of fetch sessions, under the names of Kafka's metrics."""

from collections.abc import Callable

from barnabas.server.observing.metrics import Metrics, Source, Values
from barnabas.server.replication.fetch_sessions import FetchSessions
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas


def observe_replicas(replicas: Replicas, metrics: Metrics) -> None:
    """Count partitions by their state when somebody asks."""
    prefix = "kafka_server_replicamanager"

    def count(holds: Callable[[Partition], bool]) -> Callable[[], int]:
        return lambda: sum(map(holds, replicas))

    def offline() -> int:
        return len(replicas.offline)

    metrics.gauge(f"{prefix}_partitioncount", "replicas here", count(lambda p: True))
    metrics.gauge(f"{prefix}_leadercount", "partitions led here", count(lambda p: p.is_leader))
    metrics.gauge(
        f"{prefix}_underreplicatedpartitions",
        "partitions led here with a replica out of sync",
        count(_is_under_replicated),
    )
    metrics.gauge(
        f"{prefix}_underminisrpartitioncount",
        "partitions led here that acks=all cannot write to",
        count(_is_under_min_isr),
    )
    metrics.gauge(
        f"{prefix}_atminisrpartitioncount",
        "partitions led here that acks=all could not write to with one in sync less",
        count(_is_at_min_isr),
    )
    metrics.gauge(
        f"{prefix}_reassigningpartitions", "partitions led here that move", count(_is_moving)
    )
    metrics.gauge(f"{prefix}_offlinereplicacount", "replicas in failed directories", offline)


def _is_under_replicated(partition: Partition) -> bool:
    """Whether too few are in sync; those that a reassignment adds are not expected to be."""
    expected = len(partition.replicas) - len(partition.adding)
    return partition.is_leader and len(partition.isr) < expected


def _is_moving(partition: Partition) -> bool:
    return partition.is_leader and bool(partition.adding or partition.removing)


def _is_under_min_isr(partition: Partition) -> bool:
    return partition.is_leader and len(partition.isr) < partition.min_insync_replicas


def _is_at_min_isr(partition: Partition) -> bool:
    return partition.is_leader and len(partition.isr) == partition.min_insync_replicas


def observe_in_sync(replicas: Replicas, metrics: Metrics) -> None:
    """Show who is in sync of each partition led here, and how often that has changed."""

    def source(name: str, text: str, read: Callable[[Partition], int]) -> Source:
        def values() -> Values:
            led = [each for each in replicas if each.is_leader]
            return (((p.topic, str(p.index)), read(p)) for p in led)

        labels = ("topic", "partition")
        return Source("gauge", f"kafka_cluster_partition_{name}", text, labels, values)

    metrics.add(
        source("insyncreplicascount", "replicas in sync", lambda p: len(p.isr)),
        source("replicascount", "replicas", lambda p: len(p.replicas)),
        source("underreplicated", "1 with a replica out of sync", _is_under_replicated),
        source("underminisr", "1 if acks=all cannot write to it", _is_under_min_isr),
        source("atminisr", "1 if acks=all could not with one less", _is_at_min_isr),
    )
    prefix, parts = "kafka_server_replicamanager", replicas.leader_parts
    metrics.counter(f"{prefix}_isrexpands", "followers that came in sync", lambda: parts.expansions)
    metrics.counter(f"{prefix}_isrshrinks", "in-sync sets that shrank", lambda: parts.shrinks)
    metrics.counter(
        f"{prefix}_failedisrupdates", "changes that were refused", lambda: parts.failures
    )


def observe_logs(replicas: Replicas, metrics: Metrics) -> None:
    """Measure each partition's log when somebody asks."""

    def source(name: str, text: str, read: Callable[[Partition], int]) -> Source:
        def values() -> Values:
            return (((p.topic, str(p.index)), read(p)) for p in tuple(replicas))

        return Source("gauge", f"kafka_log_log_{name}", text, ("topic", "partition"), values)

    metrics.add(
        source("size", "bytes of all segments", lambda p: p.log.size_bytes),
        source("numlogsegments", "segments", lambda p: len(p.log.segments)),
        source("logstartoffset", "first offset kept", lambda p: p.log.log_start_offset),
        source("logendoffset", "offset of the next record", lambda p: p.log.log_end_offset),
    )


def observe_sessions(sessions: FetchSessions, metrics: Metrics) -> None:
    """Count fetch sessions."""
    prefix = "kafka_server_fetchsessioncache"
    metrics.gauge(f"{prefix}_numincrementalfetchsessions", "fetch sessions", lambda: len(sessions))
    metrics.counter(
        f"{prefix}_incrementalfetchsessionevictions",
        "fetch sessions put out by others",
        lambda: sessions.evicted_count,
    )
