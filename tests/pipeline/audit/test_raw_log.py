"""Batches as they lie in a log: of a broker, and of its segment files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import Producer

import barnabas
from barnabas.pipeline.audit.raw_log import BrokerLog, UnreadableLog, client_settings
from barnabas.pipeline.audit.segment_log import SegmentLog
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.storage.directory.partition_metadata import read_topic_id, topic_id_text
from barnabas.storage.disk.fs import REAL

SASL = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "SCRAM-SHA-256",
    "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="ann" password="a\\"b";',
    "kafka.ssl.truststore.location": "/ca.pem",
    "kafka.ssl.truststore.type": "PEM",
}


def filled(address: str) -> None:
    """Ten records of 100,000 bytes: more than a first Fetch asks for."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    for number in range(10):
        producer.produce("wide", bytes([number]) * 100_000, partition=0)
        assert producer.flush(30) == 0


def test_the_broker_and_its_files_have_the_same_batches(tmp_path: Path) -> None:
    with barnabas.Broker(data_dir=tmp_path) as broker:
        filled(broker.bootstrap_servers)
        raw = read_topic_id(REAL, str(next(tmp_path.rglob("wide-0"))))
        topic_id = topic_id_text(raw) if raw else ""
        data_dir = next(tmp_path.rglob("wide-0")).parent
        asked = BrokerLog(client_settings(KafkaCluster(broker.bootstrap_servers)))
        try:
            for offset in (0, 4, 9):
                found = list(asked.headers("wide", topic_id, 0, offset))
                assert [each.base_offset for each in found] == list(range(offset, 10))
                lying = list(SegmentLog([str(data_dir)]).places("wide", topic_id, 0, offset))
                assert [each.header.crc for each in lying] == [each.crc for each in found]
            assert list(asked.headers("wide", topic_id, 0, 10)) == []
        finally:
            asked.close()


def test_a_folder_of_another_topic_by_that_name_is_not_read(tmp_path: Path) -> None:
    with barnabas.Broker(data_dir=tmp_path) as broker:
        filled(broker.bootstrap_servers)
        data_dir = str(next(tmp_path.rglob("wide-0")).parent)
        with pytest.raises(UnreadableLog, match="no folder wide-0"):
            list(SegmentLog([data_dir]).headers("wide", "B" * 22, 0, 0))


def test_java_settings_are_told_to_the_client_that_reads_batches() -> None:
    settings = client_settings(KafkaCluster("a:1,b:2", SASL))
    assert settings["bootstrap_servers"] == ["a:1", "b:2"]
    assert settings["security_protocol"] == "SASL_SSL"
    assert settings["sasl_mechanism"] == "SCRAM-SHA-256"
    assert (settings["sasl_plain_username"], settings["sasl_plain_password"]) == ("ann", 'a"b')
    assert settings["ssl_cafile"] == "/ca.pem"


def test_what_cannot_be_told_is_said() -> None:
    strange = SASL | {"kafka.ssl.truststore.type": "JKS"}
    with pytest.raises(UnreadableLog, match="truststore"):
        client_settings(KafkaCluster("a:1", strange))
