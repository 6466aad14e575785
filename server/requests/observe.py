"""What is known of requests and of those that wait, under the names of Kafka's metrics."""

from collections.abc import Callable

from barnabas.server.core.delayed import Delayed
from barnabas.server.observing.metrics import Metrics, Source, Values


def observe_requests(counts: Callable[[], Values], metrics: Metrics) -> None:
    """Show the requests that `counts` tells by API and version."""
    name, labels = "kafka_network_requestmetrics_requests", ("request", "version")
    metrics.add(Source("counter", name, "requests by API and version", labels, counts))


def observe_waits(kinds: tuple[Delayed, ...], metrics: Metrics) -> None:
    """Count what waits, by its kind."""

    def expires(waits: Delayed) -> Callable[[], int]:
        return lambda: waits.expired_count

    def sizes() -> Values:
        return [((waits.name,), len(waits)) for waits in kinds]

    prefix, labels = "kafka_server_delayedoperationpurgatory", ("delayedoperation",)
    metrics.add(
        Source("gauge", f"{prefix}_purgatorysize", "requests that wait", labels, sizes),
        Source("gauge", f"{prefix}_numdelayedoperations", "requests that wait", labels, sizes),
    )
    for waits in kinds:
        name = f"kafka_server_delayed{waits.name.lower()}metrics_expires"
        metrics.counter(name, f"{waits.name} requests whose time ran out", expires(waits))
