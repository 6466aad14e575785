"""Questions about the cluster, by the connector's own admin client."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from broker_admin import BrokerAdmin, unique_name
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from barnabas.pipeline.spark.admin import Admin, OffsetAt
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def admin(spark: SparkSession, cluster: KafkaCluster) -> Iterator[Admin]:
    with Admin(spark, cluster) as made:
        yield made


def test_the_cluster_has_an_id(admin: Admin, broker_address: str) -> None:
    client = AdminClient({"bootstrap.servers": broker_address})
    assert admin.cluster_id() == client.describe_cluster().result(20).cluster_id


def test_topics_by_name_and_by_pattern(admin: Admin, broker_admin: BrokerAdmin) -> None:
    one = broker_admin.create_topic("admin-one", 3)
    other = broker_admin.create_topic("admin-other", 1)
    found = admin.topics([one, one])
    assert list(found) == [one] and found[one].partition_count == 3
    assert len(found[one].topic_id) == 22
    assert found[one].partitions() == [(one, 0), (one, 1), (one, 2)]
    assert {one, other} <= set(admin.topics(pattern="admin-o.*"))
    assert admin.topics(pattern="admin") == {}, "a pattern has to match the whole name"
    assert {one, other} <= set(admin.topics())


def test_a_topic_that_is_not_there_is_named_beside_what_was_meant(
    admin: Admin, broker_admin: BrokerAdmin
) -> None:
    name = broker_admin.create_topic("admin-orders")
    with pytest.raises(PipelineError, match=f"no topic {name}x at .*mean {name}"):
        admin.topics([name, f"{name}x"])
    with pytest.raises(PipelineError, match="no topic not a name at"):
        admin.topics(["not a name"])


def test_names_are_matched_by_javas_patterns_wherever_they_are_from(admin: Admin) -> None:
    assert admin.matching(r"\p{Lower}+", ["abc", "Abc", "abc1"]) == ["abc"]


def test_a_pattern_that_is_none_is_said(admin: Admin) -> None:
    with pytest.raises(PipelineError, match="none of Java's: Unclosed"):
        admin.topics(pattern="(")
    with pytest.raises(PipelineError, match="none of Java's: Unclosed"):
        admin.matching("(", [])


def test_settings_of_a_topic(admin: Admin, broker_admin: BrokerAdmin) -> None:
    name = broker_admin.create_topic("admin-settings", 1, {"retention.ms": "12345"})
    settings = admin.configs(name)
    assert settings["retention.ms"] == "12345" and settings["cleanup.policy"] == "delete"


def test_offsets_at_both_ends_by_time_and_committed(
    admin: Admin, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    name = broker_admin.create_topic("admin-offsets", 2)
    producer = Producer({"bootstrap.servers": broker_address, "transactional.id": name})
    producer.init_transactions(20)
    producer.begin_transaction()
    for number in range(5):
        producer.produce(name, b"x", partition=0, timestamp=1_000_000 + number)
    producer.flush(20)
    partitions = [(name, 0), (name, 1)]
    ends = admin.offsets(partitions, at="latest")
    assert [ends[part].offset for part in partitions] == [5, 0]
    assert admin.offsets(partitions, committed=True)[name, 0].offset == 0
    producer.commit_transaction(20)
    assert admin.offsets(partitions, committed=True)[name, 0].offset == 6
    assert admin.offsets(partitions, at="earliest")[name, 0] == OffsetAt(0, 0)
    assert admin.offsets(partitions, at=1_000_003)[name, 0].offset == 3
    assert admin.offsets(partitions, at=1_000_003)[name, 1] == OffsetAt(-1, None)
    assert admin.offsets([]) == {}


def test_nobody_there_is_said_at_once(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(PipelineError, match=f"no broker at 127.0.0.1:{port}: connection refused"):
        Admin(spark, KafkaCluster(f"127.0.0.1:{port}"))
    with pytest.raises(PipelineError, match=r"no broker at nowhere\.invalid"):
        Admin(spark, KafkaCluster("nowhere.invalid"))


def test_one_that_listens_and_does_not_answer_has_an_end(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        quick = {"kafka.default.api.timeout.ms": "1500", "kafka.request.timeout.ms": "1000"}
        with Admin(spark, KafkaCluster(address, quick)) as admin:
            with pytest.raises(PipelineError, match=f"{address}: the brokers do not answer"):
                admin.cluster_id()


def test_a_setting_that_kafkas_client_refuses_is_named(
    spark: SparkSession, broker_address: str
) -> None:
    options = {"kafka.security.protocol": unique_name("X")}
    with pytest.raises(PipelineError, match=r"--kafka-option: .*security\.protocol"):
        Admin(spark, KafkaCluster(broker_address, options))
