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
        count(lambda p: p.is_leader and len(p.isr) < len(p.replicas)),
    )
    metrics.gauge(
        f"{prefix}_underminisrpartitioncount",
        "partitions led here that acks=all cannot write to",
        count(lambda p: p.is_leader and len(p.isr) < p.min_insync_replicas),
    )
    metrics.gauge(f"{prefix}_offlinereplicacount", "replicas in failed directories", offline)


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
