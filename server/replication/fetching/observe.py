"""What is known of fetchers, under the names of Kafka's metrics."""

from barnabas.server.observing.metrics import Metrics, Source, Values
from barnabas.server.replication.fetching.fetchers import Fetchers


def observe_fetchers(fetchers: Fetchers, metrics: Metrics) -> None:
    """Show how far behind what is followed is, and what has come."""
    manager = "kafka_server_replicafetchermanager"

    def lags() -> Values:
        return [
            ((followed.partition.topic, str(followed.partition.index)), followed.lag)
            for fetcher in fetchers
            for followed in fetcher.table.all.values()
        ]

    def max_lag() -> float:
        return max((lag for _, lag in lags()), default=0.0)

    metrics.gauge(f"{manager}_maxlag", "records that the slowest follower lacks", max_lag)
    metrics.gauge(
        f"{manager}_failedpartitionscount",
        "partitions that are not followed any more",
        lambda: len(fetchers.failed),
    )
    metrics.counter(
        "kafka_server_fetcherstats_requests",
        "fetches sent to leaders",
        lambda: fetchers.counts.requests,
    )
    metrics.counter(
        "kafka_server_brokertopicmetrics_replicationbytesin",
        "bytes of batches that came from leaders",
        lambda: fetchers.counts.received_bytes,
    )
    metrics.add(
        Source(
            "gauge",
            "kafka_server_fetcherlagmetrics_consumerlag",
            "records that a follower lacks, -1 if its leader has not been heard yet",
            ("topic", "partition"),
            lags,
        )
    )
