"""What the broker counts, under the names Kafka's metrics have behind the JMX exporter.

Hot paths add to plain integers in slotted objects (`TopicMetrics`, `RequestMetrics`); everything
else is read where it lives, by a callable, when somebody scrapes. `kafka.server:type=
BrokerTopicMetrics,name=BytesInPerSec,topic=t` is `kafka_server_brokertopicmetrics_bytesin_total
{topic="t"}`, and without the label the sum over all topics. prometheus-client is imported by
`exporter` only, since it costs 20 ms.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from barnabas.server.observing.histogram import QUANTILES, Histogram
from barnabas.server.observing.topic_metrics import TOPIC_COUNTS, TopicMetrics
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from prometheus_client.core import Metric

Labels = tuple[str, ...]
Values = Iterable[tuple[Labels, float]]


class RequestMetrics:
    """What `request_metrics` records about one API; errors are by code."""

    __slots__ = ("errors", "request_bytes", "total_time_us")

    def __init__(self) -> None:
        self.errors: Counter[int] = Counter()
        self.total_time_us = Histogram()
        self.request_bytes = Histogram()


class Source(NamedTuple):
    """Values read at scrape time: one per set of label values."""

    kind: Literal["counter", "gauge"]
    name: str
    documentation: str
    labels: Labels
    read: Callable[[], Values]


class Metrics:
    """Everything one broker counts."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicMetrics] = {}
        self.requests: dict[str, RequestMetrics] = {}
        self.sources: list[Source] = []
        self._gone = TopicMetrics()

    def topic(self, name: str) -> TopicMetrics:
        """The counts of a topic, for whoever serves it to keep."""
        return self.topics.setdefault(name, TopicMetrics())

    def forget_topic(self, name: str) -> None:
        """Stop showing a deleted topic; what it counted stays in the broker's sums."""
        if counts := self.topics.pop(name, None):
            for field in TOPIC_COUNTS:
                setattr(self._gone, field, getattr(self._gone, field) + getattr(counts, field))

    def request(self, api: str) -> RequestMetrics:
        """The counts of an API, as `Produce`, for whoever records it to keep."""
        counts = self.requests.get(api)
        if counts is None:
            counts = self.requests[api] = RequestMetrics()
        return counts

    def gauge(self, name: str, documentation: str, read: Callable[[], float]) -> None:
        """Show one value, read when scraped."""
        self.add(Source("gauge", name, documentation, (), lambda: [((), read())]))

    def counter(self, name: str, documentation: str, read: Callable[[], float]) -> None:
        """Show one value that only grows, read when scraped; the name gets `_total`."""
        self.add(Source("counter", name, documentation, (), lambda: [((), read())]))

    def add(self, *sources: Source) -> None:
        """Show the sources' values, read when scraped."""
        self.sources += sources

    def broker_total(self, field: str) -> int:
        """A topic count, summed over all topics that ever were."""
        counts = [getattr(each, field) for each in (self._gone, *self.topics.values())]
        return sum(counts)


def exporter(metrics: Metrics) -> Callable[[], tuple[bytes, str]]:
    """A function that answers a scrape: the text, and its content type."""
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(metrics))
    ProcessCollector(registry=registry)
    return lambda: (generate_latest(registry), CONTENT_TYPE_LATEST)


class _Collector:
    """prometheus-client's view of `Metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def describe(self) -> Iterable["Metric"]:
        return ()

    def collect(self) -> Iterator["Metric"]:
        yield from self._topics()
        yield from self._requests()
        yield from self._sources()

    def _topics(self) -> Iterator["Metric"]:
        for field in TOPIC_COUNTS:
            name = f"kafka_server_brokertopicmetrics_{field.replace('_', '')}"
            family = _family("counter", name, f"{field.replace('_', ' ')}, by topic and in all")
            family.add_sample(f"{name}_total", {}, self._metrics.broker_total(field))
            for topic, counts in self._metrics.topics.items():
                family.add_sample(f"{name}_total", {"topic": topic}, getattr(counts, field))
            yield family

    def _requests(self) -> Iterator["Metric"]:
        prefix = "kafka_network_requestmetrics"
        errors = _family("counter", f"{prefix}_errors", "error codes answered, by API; NONE is one")
        times = _family(
            "summary",
            f"{prefix}_totaltimems",
            "ms from each whole request to its queued answer, by API",
        )
        sizes = _family("summary", f"{prefix}_requestbytes", "bytes of each request, by API")
        for api, counts in self._metrics.requests.items():
            for code, count in counts.errors.items():
                error = ErrorCode(code).name
                errors.add_sample(f"{errors.name}_total", {"request": api, "error": error}, count)
            _add_summary(times, {"request": api}, counts.total_time_us, 1000)
            _add_summary(sizes, {"request": api}, counts.request_bytes, 1)
        yield from (errors, times, sizes)

    def _sources(self) -> Iterator["Metric"]:
        families: dict[str, Metric] = {}
        for kind, name, documentation, labels, read in self._metrics.sources:
            family = families.setdefault(name, _family(kind, name, documentation))
            sample = f"{name}_total" if kind == "counter" else name
            for values, number in read():
                family.add_sample(sample, dict(zip(labels, values, strict=True)), number)
        yield from families.values()


def _family(kind: str, name: str, documentation: str) -> "Metric":
    from prometheus_client.core import Metric

    return Metric(name, documentation, kind)


def _add_summary(
    family: "Metric", labels: dict[str, str], histogram: Histogram, divisor: float
) -> None:
    quantiles = histogram.recent_quantiles(time.monotonic())
    for quantile, value in zip(QUANTILES, quantiles, strict=True):
        family.add_sample(family.name, {**labels, "quantile": str(quantile)}, value / divisor)
    family.add_sample(f"{family.name}_count", labels, histogram.count)
    family.add_sample(f"{family.name}_sum", labels, histogram.total / divisor)
