"""Counts, quantiles, and the text that Prometheus reads."""

import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.server.observing.exposition import exporter
from barnabas.server.observing.metrics import Metrics, Source
from barnabas.server.observing.topic_metrics import TOPIC_COUNTS
from tests.wire.steps import finished

Sample = tuple[str, tuple[tuple[str, str], ...]]


def _scrape(metrics: Metrics) -> dict[Sample, float]:
    text, content_type = finished(exporter(metrics)()).value
    assert content_type.startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_topic_counts_are_shown_by_topic_and_in_all() -> None:
    metrics = Metrics()
    metrics.topic("a").bytes_in += 10
    metrics.topic("a").messages_in += 1
    metrics.topic("b").bytes_in += 5
    samples = _scrape(metrics)
    name = "kafka_server_brokertopicmetrics_bytesin_total"
    assert samples[name, (("topic", "a"),)] == 10
    assert samples[name, (("topic", "b"),)] == 5
    assert samples[name, ()] == 15
    assert samples["kafka_server_brokertopicmetrics_messagesin_total", ()] == 1


def test_a_deleted_topic_leaves_its_share_of_the_sum() -> None:
    metrics = Metrics()
    metrics.topic("a").bytes_in += 10
    metrics.forget_topic("a")
    metrics.forget_topic("never was")
    samples = _scrape(metrics)
    name = "kafka_server_brokertopicmetrics_bytesin_total"
    assert samples[name, ()] == 10
    assert (name, (("topic", "a"),)) not in samples


def test_requests_are_shown_by_api_and_error() -> None:
    metrics = Metrics()
    fetch = metrics.request("Fetch")
    fetch.errors[0] += 2
    fetch.total_time_us.record(1_500)
    fetch.request_bytes.record(100)
    samples = _scrape(metrics)
    prefix = "kafka_network_requestmetrics"
    assert samples[f"{prefix}_errors_total", (("error", "NONE"), ("request", "Fetch"))] == 2
    assert samples[f"{prefix}_totaltimems_count", (("request", "Fetch"),)] == 1
    assert samples[f"{prefix}_totaltimems_sum", (("request", "Fetch"),)] == 1.5
    median = samples[f"{prefix}_totaltimems", (("quantile", "0.5"), ("request", "Fetch"))]
    assert median == pytest.approx(1.5, rel=0.2)


def test_values_that_live_elsewhere_are_read_when_scraped() -> None:
    metrics = Metrics()
    partitions = [1]
    metrics.gauge("kafka_server_replicamanager_partitioncount", "partitions", partitions.__len__)
    metrics.counter("kafka_server_replicamanager_isrshrinks", "shrinks", lambda: 4)
    for listener, count in (("PLAINTEXT", 2), ("SSL", 3)):
        metrics.add(
            Source(
                "gauge",
                "kafka_server_socket_server_metrics_connection_count",
                "connections",
                ("listener",),
                lambda listener=listener, count=count: [((listener,), count)],
            )
        )
    partitions.append(2)
    samples = _scrape(metrics)
    assert samples["kafka_server_replicamanager_partitioncount", ()] == 2
    assert samples["kafka_server_replicamanager_isrshrinks_total", ()] == 4
    name = "kafka_server_socket_server_metrics_connection_count"
    assert samples[name, (("listener", "SSL"),)] == 3
    assert samples[name, (("listener", "PLAINTEXT"),)] == 2


def test_the_process_is_shown_too() -> None:
    assert _scrape(Metrics())["process_resident_memory_bytes", ()] > 1_000_000


def test_prometheus_client_is_imported_only_to_export() -> None:
    script = (
        "import sys, barnabas.server.observing.metrics as m; m.Metrics().topic('t')\n"
        "print(*sys.modules)"
    )
    modules = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "barnabas.server.observing.metrics" in modules
    assert not [module for module in modules if module.startswith("prometheus_client")]


def test_labels_and_documentation_are_escaped() -> None:
    metrics = Metrics()
    odd = 'a "b" \\ and\na line'
    metrics.add(Source("gauge", "odd", odd, ("label",), lambda: [((odd,), 1.0)]))
    assert _scrape(metrics)["odd", (("label", odd),)] == 1.0


def test_a_scrape_lets_others_have_their_turn_at_every_line() -> None:
    metrics = Metrics()
    for number in range(1_000):
        metrics.topic(f"t{number}").bytes_in += number
    exported = finished(exporter(metrics)())
    assert exported.steps >= 1_000 * len(TOPIC_COUNTS)
    assert exported.steps >= exported.value[0].count(b"kafka_") - exported.value[0].count(b"#")
