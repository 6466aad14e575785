"""What goes wrong between Spark and a real cluster is one sentence that names what to change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from broker_admin import BrokerAdmin
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.pipeline.spark.failures import PipelineError, sentences
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch, read_stream
from barnabas.pipeline.spark.progress import await_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_SECONDS = 20.0


def send(cluster: KafkaCluster, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, str(number).encode(), partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0


def delete_below(cluster: KafkaCluster, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    place = TopicPartition(topic, 0, offset)
    admin.delete_records([place])[place].result(PATIENCE_SECONDS)


def delete_topic(cluster: KafkaCluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)


class Landing:
    """A stream that lands a topic in a folder, run after run, in the shortest way."""

    def __init__(self, spark: SparkSession, cluster: KafkaCluster, topic: str, folder: Path):
        self.spark, self.cluster, self.topic, self.folder = spark, cluster, topic, folder

    def run(self) -> int:
        """Land what is new; the number of rows."""
        options = {"startingOffsets": "earliest"}
        frame = read_stream(self.spark, self.cluster, topics=[self.topic], options=options)
        writer: Any = frame.writeStream.format("parquet").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        with sentences():
            return await_query(writer.start(str(self.folder / "lake")))

    def failure(self) -> str:
        """The sentence with which a run ends."""
        with pytest.raises(PipelineError) as raised:
            self.run()
        assert "\n" not in raised.value.message
        return raised.value.message


@pytest.fixture
def topic(cluster: KafkaCluster, broker_admin: BrokerAdmin) -> str:
    """Ten records."""
    name = broker_admin.create_topic("failures")
    send(cluster, name, 10)
    return name


@pytest.fixture
def landing(spark: SparkSession, cluster: KafkaCluster, topic: str, tmp_path: Path) -> Landing:
    made = Landing(spark, cluster, topic, tmp_path)
    assert made.run() == 10
    return made


def test_records_deleted_between_runs_are_told_with_their_offsets(landing: Landing) -> None:
    send(landing.cluster, landing.topic, 10)
    delete_below(landing.cluster, landing.topic, 15)
    told = f"records of {landing.topic}-0 were deleted before they were read, some or all of the "
    assert landing.failure().startswith(f"{told}offsets 10 to 19; ")


def test_a_topic_made_again_between_runs_is_told_by_its_end(
    landing: Landing, broker_admin: BrokerAdmin
) -> None:
    delete_topic(landing.cluster, landing.topic)
    broker_admin.create_topic_named(landing.topic)
    send(landing.cluster, landing.topic, 3)
    told = f"{landing.topic}-0 ends at offset 3, before offset 10 where reading was to go on: "
    assert landing.failure().startswith(told)


def test_a_topic_that_has_gone_is_missing(landing: Landing) -> None:
    delete_topic(landing.cluster, landing.topic)
    assert re.match(r"there is no such topic|what was being read is not there", landing.failure())


def test_a_batch_of_what_was_deleted_is_told(
    spark: SparkSession, cluster: KafkaCluster, topic: str
) -> None:
    delete_below(cluster, topic, 5)
    starting = {"startingOffsets": f'{{"{topic}": {{"0": 2}}}}'}
    frame = read_batch(spark, cluster, topics=[topic], options=starting)
    with pytest.raises(PipelineError, match=r"deleted before.* some or all of the offsets 2 to 9"):
        with sentences():
            frame.count()
