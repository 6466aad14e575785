"""What the broker counts, under the names Kafka's metrics have behind the JMX exporter.

Hot paths add to plain integers in slotted objects (`TopicMetrics`, `RequestMetrics`); everything
else is read where it lives, by a callable, when somebody scrapes. `kafka.server:type=
BrokerTopicMetrics,name=BytesInPerSec,topic=t` is `kafka_server_brokertopicmetrics_bytesin_total
{topic="t"}`, and without the label the sum over all topics. prometheus-client is imported by
`exporter` only, since it costs 20 ms.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from barnabas.server.observing.histogram import Histogram
from barnabas.server.observing.topic_metrics import TOPIC_COUNTS, TopicMetrics

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
