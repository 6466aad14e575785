"""What is known of connections, under the names of Kafka's metrics."""

from collections import Counter

from barnabas.server.network.listener import Population
from barnabas.server.observing.metrics import Metrics, Source, Values


def observe_connections(population: Population, metrics: Metrics) -> None:
    """Count connections, and the memory of large requests, when somebody asks."""

    def connections() -> Values:
        counts = Counter(each.listener_name for each in population.connections)
        return [((name,), count) for name, count in counts.items()]

    def software() -> Values:
        counts = Counter((c.listener_name, *c.software) for c in population.connections)
        return list(counts.items())

    metrics.add(
        Source(
            "gauge",
            "kafka_server_socket_server_metrics_connection_count",
            "open connections by listener",
            ("listener",),
            connections,
        ),
        Source(
            "gauge",
            "kafka_server_socket_server_metrics_connections",
            "open connections by listener and by what clients say they are (KIP-511)",
            ("listener", "clientSoftwareName", "clientSoftwareVersion"),
            software,
        ),
    )
    memory = population.request_memory
    if memory is not None:
        prefix = "kafka_network_socketserver_memorypool"
        metrics.gauge(
            f"{prefix}available",
            "bytes left of queued.max.request.bytes",
            lambda: memory.available_bytes,
        )
        metrics.gauge(
            f"{prefix}used", "bytes of large requests being received", lambda: memory.used_bytes
        )
