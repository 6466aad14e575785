"""What is known of moves between data directories, under the names of Kafka's metrics."""

from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.moving.moves import Moves


def observe_moves(moves: Moves, metrics: Metrics) -> None:
    """Show how many replicas are on their way, and how far behind."""
    manager = "kafka_server_replicaalterlogdirsmanager"
    metrics.gauge(
        f"{manager}_maxlag", "records that the slowest move has to copy", lambda: moves.max_lag
    )
    metrics.gauge(
        f"{manager}_failedpartitionscount",
        "moves that went wrong, to be tried again",
        lambda: len(moves.failed),
    )
    metrics.gauge(
        f"{manager}_partitioncount",
        "replicas on their way to another directory",
        lambda: len(moves),
    )
    metrics.counter(f"{manager}_moves", "replicas that have moved", lambda: moves.moved_count)
    metrics.counter(
        f"{manager}_bytescopied", "bytes that moves have copied", lambda: moves.copied_bytes
    )
