"""A landing that goes on: what comes in mid-stream, a broker that is killed, epochs that change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin, unique_name
from confluent_kafka import Consumer, TopicPartition
from own_broker import OwnBroker
from pyspark.sql import SparkSession

from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.lake.log import read_state
from barnabas.pipeline.land.landing import Landing
from barnabas.pipeline.land.landing_options import LandingOptions
from barnabas.pipeline.land.marker import Selection
from barnabas.pipeline.spark.kafka import KafkaCluster

from .landings import KEPT, Landings, send

DEADLINE_S = 120


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OwnBroker]:
    broker = OwnBroker(tmp_path)
    yield broker
    broker.kill()


@contextmanager
def going_on(landings: Landings, pattern: str) -> Iterator[None]:
    """A landing of a pattern, batch after batch, until the block ends."""
    options = LandingOptions(
        str(landings.path),
        str(landings.folder / "checkpoint"),
        Selection((), pattern),
        once=False,
        interval="100 milliseconds",
    )
    landing = Landing(landings.spark, landings.cluster, options)
    query = landing.query()
    try:
        yield
        assert query.isActive, query.exception()
    finally:
        query.stop()
        landing.close()


def wait_until(landings: Landings, is_so: Callable[[int], bool]) -> None:
    """Until the number of rows in the lake is as wanted."""
    deadline = time.monotonic() + DEADLINE_S
    folder = LocalFolder(landings.path)
    while not is_so(sum(file.rows for file in read_state(folder).files)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_topics_come_and_the_broker_is_killed_in_mid_stream(
    spark: SparkSession, broker: OwnBroker, tmp_path: Path
) -> None:
    landings = Landings(spark, KafkaCluster(broker.address), tmp_path)
    admin = BrokerAdmin(broker.address)
    base = unique_name("stream")
    names = [f"{base}.{number}" for number in range(3)]
    admin.create_topic_named(names[0], 1, KEPT)
    send(broker.address, names[0], [b"1"])
    with going_on(landings, f"{base}.*"):
        wait_until(landings, lambda rows: rows == 1)
        admin.create_topic_named(names[1], 1, KEPT)
        send(broker.address, names[1], [b"2"])
        wait_until(landings, lambda rows: rows == 2)
        broker.kill()
        broker.start()
        send(broker.address, names[0], [b"3"])
        admin.create_topic_named(names[2], 2, KEPT)
        send(broker.address, names[2], [b"4"], 1)
        wait_until(landings, lambda rows: rows == 4)
    expected = [(names[0], 0, 0), (names[0], 0, 1), (names[1], 0, 0), (names[2], 1, 0)]
    assert landings.places() == landings.plain_places() == expected


def test_every_record_has_the_leader_epoch_that_a_client_is_told(
    spark: SparkSession, broker: OwnBroker, tmp_path: Path
) -> None:
    landings = Landings(spark, KafkaCluster(broker.address), tmp_path)
    topic = BrokerAdmin(broker.address).create_topic("epochs", 2, KEPT)
    for count in (3, 1, 4):
        send(broker.address, topic, [b"v"] * count)
        send(broker.address, topic, [b"v"], 1)
        broker.kill()
        broker.start()
    landings.land(topic)
    send(broker.address, topic, [b"v"] * 2)
    landings.land(topic)
    found = {(row.partition, row.offset): row.leader_epoch for row in landings.rows()}
    assert found == told_epochs(broker.address, topic, 2)
    assert len(set(found.values())) > 1


def told_epochs(address: str, topic: str, partitions: int) -> dict[tuple[int, int], int]:
    """By partition and offset the epoch that librdkafka was told."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader"})
    places = [TopicPartition(topic, number, 0) for number in range(partitions)]
    left = sum(consumer.get_watermark_offsets(place, timeout=20)[1] for place in places)
    consumer.assign(places)
    found = {}
    while left:
        for message in consumer.consume(left, 20):
            assert message.error() is None
            found[message.partition(), message.offset()] = message.leader_epoch()
            left -= 1
    consumer.close()
    return found
