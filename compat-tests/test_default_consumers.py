"""A consumer with its library's own settings gets every record once, whatever the sizes.

What does not fit into one answer is where brokers and clients differ: a client's defaults allow
some 50 MB an answer and 1 MB a partition, and a record may be larger than that (issue 12).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest
from broker_admin import BrokerAdmin
from client_builds import Family, skip_where_lacking
from clients import ClientPool
from families import FAMILIES, OLD_FAMILIES
from kafka_tools import RELEASES, KafkaTools
from raw_producer import RawProducer, batch_of
from records import an_hour_ago_ms

EVERY_FAMILY = FAMILIES | OLD_FAMILIES
PARTITIONS = (1, 4, 70)
# Batches of a partition, each as the sizes of its records' values. Of the largest there are
# fewer where there are many partitions.
BATCHES = {"1 KB": [[1_000] * 10] * 2, "300 KB": [[300_000]] * 3, "2 MB": [[2_000_000]] * 3}
FEWER_BATCHES = {"2 MB": [[2_000_000]]}
TIMEOUT_MS = 30_000  # for a lost record: nothing else takes so long
CONFIG = {"max.message.bytes": "3000000", "retention.ms": "-1"}

Seen = dict[int, list[tuple[int, int]]]
"""By partition, (offset, size of the value) in the order in which they came."""

sizes = pytest.mark.parametrize("size", BATCHES)
partition_counts = pytest.mark.parametrize("partitions", PARTITIONS)


class Topics:
    """A topic per size of records and number of partitions, filled when first asked for."""

    def __init__(self, bootstrap: str, admin: BrokerAdmin) -> None:
        self._bootstrap, self._admin = bootstrap, admin
        self._made: dict[tuple[str, int], str] = {}

    def name(self, size: str, partitions: int) -> str:
        """The topic's name."""
        key = size, partitions
        if key not in self._made:
            self._made[key] = self._admin.create_topic("drained", partitions, CONFIG)
            producer = RawProducer(self._bootstrap)
            for values in batches(size, partitions):
                batch = batch_of(values, an_hour_ago_ms())
                producer.append(self._made[key], partitions, batch)
            producer.close()
        return self._made[key]


def batches(size: str, partitions: int) -> list[list[int]]:
    """What each partition of the topic holds."""
    return FEWER_BATCHES.get(size, BATCHES[size]) if partitions > 4 else BATCHES[size]


def expected(size: str, partitions: int) -> Seen:
    """What a reader of the topic has seen at the end."""
    values = [value for batch in batches(size, partitions) for value in batch]
    return {partition: list(enumerate(values)) for partition in range(partitions)}


def count_of(seen: Seen) -> int:
    """How many records."""
    return sum(map(len, seen.values()))


def by_partition(found: Iterable[tuple[int, int, int]]) -> Seen:
    """Sort (partition, offset, size) by partition."""
    seen = defaultdict(list)
    for partition, offset, size in found:
        seen[partition].append((offset, size))
    return seen


@pytest.fixture(scope="module")
def topics(broker_address: str, broker_admin: BrokerAdmin) -> Topics:
    """The topics of all tests here."""
    return Topics(broker_address, broker_admin)


@sizes
@partition_counts
@pytest.mark.parametrize("family", EVERY_FAMILY.values(), ids=EVERY_FAMILY)
def test_a_library_gets_every_record_once(
    family: Family, partitions: int, size: str, clients: ClientPool, topics: Topics
) -> None:
    skip_where_lacking(family, size)
    wanted = expected(size, partitions)
    events = clients.run(
        family, "drain", topic=topics.name(size, partitions), partitions=partitions,
        count=count_of(wanted), timeout_ms=TIMEOUT_MS, seconds=TIMEOUT_MS / 1000 + 20,
    )  # fmt: skip
    found = [(event["partition"], event["offset"], event["size"]) for event in events]
    assert by_partition(found) == wanted


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest, broker_address: str) -> Iterator[KafkaTools]:
    """The tools of one release."""
    tools = KafkaTools(request.param, broker_address)
    yield tools
    tools.close()


@sizes
@partition_counts
def test_the_console_consumer_gets_every_record_once(
    tools: KafkaTools, partitions: int, size: str, topics: Topics
) -> None:
    wanted = expected(size, partitions)
    option = "--formatter-property" if tools.release.startswith("4") else "--property"
    printed = ("print.partition=true", "print.offset=true", "print.value=false")
    outcome = tools.ok(
        "kafka-console-consumer", "--topic", topics.name(size, partitions), "--from-beginning",
        "--max-messages", str(count_of(wanted)), "--timeout-ms", str(TIMEOUT_MS),
        *(word for each in printed for word in (option, each)),
    )  # fmt: skip
    found = [re.findall(r"(?:Partition|Offset):(\d+)", line) for line in outcome.lines]
    places = sorted(tuple(map(int, numbers)) for numbers in found)
    assert places == sorted((p, at) for p, records in wanted.items() for at, _ in records)
