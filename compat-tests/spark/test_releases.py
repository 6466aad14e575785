"""Spark over a broker that poses as an older Apache Kafka: without topic ids, with fewer APIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from broker_admin import unique_name
from own_broker import OwnBroker
from spark_brokers import AGAINST
from spark_link import Sent, Spark
from spark_topics import Topics, numbered, sent_by

pytestmark = pytest.mark.skipif(bool(AGAINST), reason="Apache Kafka is of one release")
RELEASES = ("2.8", "3.9")


@pytest.fixture(scope="module", params=RELEASES)
def old_topics(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Topics]:
    """Topics at a broker that poses as the release."""
    settings = (f"barnabas.pose.as={request.param}", "auto.create.topics.enable=false")
    broker = OwnBroker(tmp_path_factory.mktemp("posing"), settings)
    yield Topics(broker.address)
    assert broker.complaints() == ""
    broker.close()


def test_it_reads_batches(spark: Spark, old_topics: Topics) -> None:
    topic = old_topics.make("old", 2)
    with old_topics.transaction(commit=False) as producer:
        rows = sent_by(producer, topic, numbered(5))
    committed = old_topics.send(topic, numbered(5, 6) + numbered(5, partition=1))
    at = {"kafka.bootstrap.servers": old_topics.address}
    assert spark.read(topic, **at).rows == rows + committed
    read_committed = {"kafka.isolation.level": "read_committed"} | at
    assert spark.read(topic, **read_committed).rows == committed
    start = {"startingTimestamp": committed[7].timestamp_ms}
    assert spark.read(assign={topic: [1]}, **start, **at).rows == committed[7:]


def test_it_streams_new_topics_and_partitions(
    spark: Spark, old_topics: Topics, checkpoint: Path
) -> None:
    word = unique_name("old-pattern")
    options = {
        "kafka.bootstrap.servers": old_topics.address,
        "subscribePattern": f"^{word}-",
        "failOnDataLoss": "false",
    }
    first, rows = old_topics.filled(f"{word}-a", 3)
    with spark.stream(checkpoint, **options) as running:
        assert running.wait(rows=3).rows == rows
        old_topics.admin.add_partitions(first, 2)
        rows += old_topics.send(first, numbered(2, partition=1))
        _, new = old_topics.filled(f"{word}-b", 4)
        assert running.wait(rows=9).rows == rows + new


def test_it_writes(spark: Spark, old_topics: Topics) -> None:
    topic = old_topics.make("old-sink", 2)
    at = {"kafka.bootstrap.servers": old_topics.address}
    sent = [Sent(b"k", b"%d" % number, (("h", None),), number % 2) for number in range(50)]
    spark.write(sent, ("key", "value", "headers", "partition"), topic=topic, **at)
    found = [(r.key, r.value, r.headers, r.partition) for r in spark.read(topic, **at).rows]
    assert found == [each[:4] for each in sorted(sent, key=lambda each: each.partition or 0)]
