"""A broker that is stopped or killed under Spark and comes back: nothing is lost or doubled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from spark_brokers import SparkBroker
from spark_link import Sent, Spark
from spark_topics import Topics, numbered

AWAY_S = 1.0
WAYS = ("stop", "kill")


@pytest.fixture(params=WAYS)
def end(request: pytest.FixtureRequest, spark_broker: SparkBroker) -> Callable[[], None]:
    """Ends the broker, cleanly or with SIGKILL."""
    way: Callable[[], None] = getattr(spark_broker, request.param)
    return way


@contextmanager
def away(broker: SparkBroker, end: Callable[[], None]) -> Iterator[None]:
    """The broker ends, and comes back by itself while the block is at work."""
    end()
    timer = threading.Timer(AWAY_S, broker.start)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def test_a_stream_goes_on_when_the_broker_is_back(
    spark: Spark,
    topics: Topics,
    spark_broker: SparkBroker,
    end: Callable[[], None],
    checkpoint: Path,
) -> None:
    topic, rows = topics.filled("survives", 10, partitions=2)
    with spark.stream(checkpoint, topic, maxOffsetsPerTrigger=6) as running:
        running.wait(rows=6)
        end()
        spark_broker.start()
        rows += topics.send(topic, numbered(10, 10, partition=1))
        assert running.wait(rows=30).rows == rows
        assert running.stop().failure is None


def test_a_batch_waits_for_the_broker(
    spark: Spark, topics: Topics, spark_broker: SparkBroker, end: Callable[[], None]
) -> None:
    topic, rows = topics.filled("waits", 10, partitions=2)
    with away(spark_broker, end):
        assert spark.read(topic).rows == rows


def test_the_sink_writes_once_what_it_has_to_send_again(
    spark: Spark, topics: Topics, spark_broker: SparkBroker, end: Callable[[], None]
) -> None:
    """Its producer, which Spark keeps, is the same before, meanwhile and afterwards."""
    topic = topics.make("sent-again")
    sent = [Sent(None, b"%d" % number) for number in range(500)]
    spark.write(sent[:100], ("value",), topic=topic)
    with away(spark_broker, end):
        spark.write(sent[100:300], ("value",), topic=topic)
    spark.write(sent[300:], ("value",), topic=topic)
    assert spark.read(topic).values == [each.value for each in sent]


def test_a_stream_into_the_sink_over_an_end_of_the_broker(
    spark: Spark,
    topics: Topics,
    spark_broker: SparkBroker,
    end: Callable[[], None],
    checkpoint: Path,
) -> None:
    source, rows = topics.filled("through", 40)
    target = topics.make("through-target")
    sink = {"topic": target, "checkpointLocation": str(checkpoint)}
    with away(spark_broker, end):
        spark.forward(source, ("value",), sink, {"availableNow": True}, maxOffsetsPerTrigger=10)
    assert spark.read(target).values == [row.value for row in rows]
