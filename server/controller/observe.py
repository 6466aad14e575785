"""What is known of the cluster, under the names of Kafka's metrics."""

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.controller.office import Controller
from barnabas.server.observing.metrics import Metrics


def observe_cluster(controller: Controller, metadata: ClusterMetadata, metrics: Metrics) -> None:
    """Show who is controller, and how many topics and partitions there are."""
    prefix, topics = "kafka_controller_kafkacontroller", metadata.topics

    def partitions() -> int:
        return sum(len(topic.partitions) for topic in topics.values())

    metrics.gauge(
        f"{prefix}_activecontrollercount",
        "1 on the broker that is the controller",
        lambda: int(controller.is_active),
    )
    metrics.gauge(f"{prefix}_globaltopiccount", "topics", lambda: len(topics))
    metrics.gauge(f"{prefix}_globalpartitioncount", "partitions", partitions)
