"""Who a job is let in as: Apache Kafka that asks for a name and a password (SASL/PLAIN)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from kafka_server import PATIENCE_SECONDS, ApacheKafka

from barnabas.pipeline.options import cluster_of
from barnabas.pipeline.replay.targets import Targets
from barnabas.pipeline.spark.admin import Admin
from barnabas.pipeline.spark.failures import PipelineError, sentences
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch
from barnabas.pipeline.spark.python_client import python_client_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = {
    "auto.create.topics.enable": "true",  # the sink's topic
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f'{MODULE} username="broker" password="b" user_broker="b" user_alice="s3cret";'
    ),
}


class GuardedKafka(ApacheKafka):
    """It answers nobody without a password: that it listens has to do."""

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._listens():
            assert time.monotonic() < deadline, self.output.read_text()[-3000:]
            time.sleep(0.05)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Kafka that lets in alice."""
    kafka = GuardedKafka("4.4.0", tmp_path_factory.mktemp("guarded") / "kafka", SETTINGS)
    try:
        kafka.start()
        yield kafka.address
    finally:
        kafka.close()


def as_alice(address: str, password: str) -> KafkaCluster:
    """What --bootstrap and --kafka-option make of the words of somebody who types them."""
    jaas = f'sasl.jaas.config={MODULE} username="alice" password="{password}";'
    words = ("kafka.security.protocol=SASL_PLAINTEXT", "kafka.sasl.mechanism=PLAIN", jaas)
    return cluster_of(address, words)


def test_whoever_has_the_password_asks_writes_and_reads(spark: SparkSession, guarded: str) -> None:
    cluster = as_alice(guarded, "s3cret")
    numbers = spark.range(100).selectExpr("string(id) AS value", "'numbers' AS topic")
    numbers.write.format("kafka").options(**cluster.source_options()).save()
    with Admin(spark, cluster) as admin:
        assert admin.offsets(admin.topics(["numbers"])["numbers"].partitions())["numbers", 0][0]
    assert read_batch(spark, cluster, topics=["numbers"]).distinct().count() == 100


def test_a_wrong_password_is_one_sentence_without_the_password(
    spark: SparkSession, guarded: str
) -> None:
    cluster = as_alice(guarded, "wrong-one")
    told = "the brokers do not let this client in: Authentication failed.*kafka.sasl"
    with Admin(spark, cluster) as admin, pytest.raises(PipelineError, match=told) as asked:
        admin.cluster_id()
    with pytest.raises(PipelineError, match=told) as read, sentences():
        read_batch(spark, cluster, topics=["numbers"]).count()
    assert "wrong-one" not in asked.value.message + read.value.message


def test_pythons_client_is_let_in_with_the_same_words_and_told_why_it_is_not(
    guarded: str,
) -> None:
    """What `replay` looks at its targets with, and writes with."""
    assert Targets(python_client_settings(as_alice(guarded, "s3cret"))).cluster_id()
    wrong = Targets(python_client_settings(as_alice(guarded, "wrong-one")))
    with pytest.raises(PipelineError, match=r"[Aa]uthentication.*kafka\.sasl") as raised:
        wrong.cluster_id()
    assert "wrong-one" not in raised.value.message


def test_who_does_not_know_of_passwords_is_told_that_nobody_answers(
    spark: SparkSession, guarded: str
) -> None:
    quick = ("default.api.timeout.ms=2000", "request.timeout.ms=1500")
    with Admin(spark, cluster_of(guarded, quick)) as admin:
        with pytest.raises(PipelineError, match=r"do not answer.*kafka\.security\.protocol"):
            admin.cluster_id()
