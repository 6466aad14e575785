"""The text that Prometheus reads, in steps: a broker has ten lines and more for each partition.

    # HELP kafka_log_log_size bytes of all segments
    # TYPE kafka_log_log_size gauge
    kafka_log_log_size{topic="t",partition="0"} 12.0

prometheus-client makes the same text, but all at once: with 3,000 partitions it held the loop for
an eighth of a second. Of it only the process's own figures are used.
"""

import time
from collections.abc import Callable, Iterator
from itertools import chain
from math import isfinite, isnan
from typing import NamedTuple

from barnabas.server.observing.histogram import QUANTILES, Histogram
from barnabas.server.observing.metrics import Labels, Metrics
from barnabas.server.observing.topic_metrics import TOPIC_COUNTS
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode

Sample = tuple[str, Labels, float]  # what follows the family's name, label values, value

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Family(NamedTuple):
    """A metric's name and its samples, which are made as they are written."""

    kind: str
    name: str
    documentation: str
    labels: Labels
    samples: Iterator[Sample]


def exporter(metrics: Metrics) -> Callable[[], Steps[tuple[bytes, str]]]:
    """A function that answers a scrape: the text, and its content type."""
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)

    def export() -> Steps[tuple[bytes, str]]:
        out = bytearray(generate_latest(registry))
        for family in chain(_topics(metrics), _requests(metrics), _sources(metrics)):
            yield from _write(out, family)
        return bytes(out), CONTENT_TYPE_LATEST

    return export


def _write(out: bytearray, family: Family) -> Steps[None]:
    kind, name, documentation, labels, samples = family
    shown = f"{name}_total" if kind == "counter" else name
    text = documentation.replace("\\", r"\\").replace("\n", r"\n")
    out += f"# HELP {shown} {text}\n# TYPE {shown} {kind}\n".encode()
    for suffix, values, number in samples:
        pairs = ",".join(
            f'{label}="{value.translate(_ESCAPED)}"'
            for label, value in sorted(zip(labels, values, strict=False))
        )
        where = f"{{{pairs}}}" if pairs else ""
        out += f"{shown}{suffix}{where} {_number(number)}\n".encode()
        yield


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    return repr(float(value)) if isfinite(value) else f"{value:+}".replace("inf", "Inf")


def _topics(metrics: Metrics) -> Iterator[Family]:
    for field in TOPIC_COUNTS:
        name = f"kafka_server_brokertopicmetrics_{field.replace('_', '')}"
        text = f"{field.replace('_', ' ')}, by topic and in all"
        yield Family("counter", name, text, ("topic",), _topic_counts(metrics, field))


def _topic_counts(metrics: Metrics, field: str) -> Iterator[Sample]:
    """The sum has no label; it is what the topics had together when it was written."""
    yield "", (), metrics.broker_total(field)
    for topic, counts in tuple(metrics.topics.items()):
        yield "", (topic,), getattr(counts, field)


def _requests(metrics: Metrics) -> Iterator[Family]:
    prefix = "kafka_network_requestmetrics"
    apis = tuple(metrics.requests.items())
    yield Family(
        "counter",
        f"{prefix}_errors",
        "error codes answered, by API; NONE is one",
        ("request", "error"),
        (
            ("", (api, ErrorCode(code).name), count)
            for api, counts in apis
            for code, count in tuple(counts.errors.items())
        ),
    )
    times = chain.from_iterable(_summary(api, each.total_time_us, 1000) for api, each in apis)
    sizes = chain.from_iterable(_summary(api, each.request_bytes, 1) for api, each in apis)
    text = "ms from each whole request to its queued answer, by API"
    labels = ("request", "quantile")
    yield Family("summary", f"{prefix}_totaltimems", text, labels, times)
    text = "bytes of each request, by API"
    yield Family("summary", f"{prefix}_requestbytes", text, labels, sizes)


def _summary(api: str, histogram: Histogram, divisor: float) -> Iterator[Sample]:
    quantiles = histogram.recent_quantiles(time.monotonic())
    for quantile, value in zip(QUANTILES, quantiles, strict=True):
        yield "", (api, str(quantile)), value / divisor
    yield "_count", (api,), histogram.count
    yield "_sum", (api,), histogram.total / divisor


def _sources(metrics: Metrics) -> Iterator[Family]:
    """One family for all sources of a name."""
    names = dict.fromkeys(source.name for source in metrics.sources)
    for name in names:
        sources = [source for source in metrics.sources if source.name == name]
        first = sources[0]
        samples = (("", values, number) for each in sources for values, number in each.read())
        yield Family(first.kind, name, first.documentation, first.labels, samples)
