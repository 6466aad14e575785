"""One broker and one Spark for all tests of this folder that a test process runs.

BARNABAS_SPARK_AGAINST=4.4.0 puts Apache Kafka in the broker's place: that is how what the tests
expect was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin
from spark_brokers import SparkBroker, start_broker
from spark_link import Spark, running_spark
from spark_topics import Topics


@pytest.fixture(scope="session")
def spark_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkBroker]:
    """The broker that Spark reads from and writes to."""
    broker = start_broker(tmp_path_factory.mktemp("spark-broker"))
    yield broker
    broker.close()


@pytest.fixture(scope="session")
def broker_address(spark_broker: SparkBroker) -> str:
    """Where it is."""
    return spark_broker.address


@pytest.fixture(scope="session")
def topics(broker_address: str) -> Topics:
    """Makes and fills topics there."""
    return Topics(broker_address)


@pytest.fixture(scope="session")
def broker_admin(topics: Topics) -> BrokerAdmin:
    """Creates topics there and asks for offsets."""
    return topics.admin


@pytest.fixture(scope="session")
def spark(broker_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Spark's Kafka source and sink."""
    with running_spark(broker_address, tmp_path_factory.mktemp("spark") / "stderr") as spark:
        yield spark


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Where a streaming query of the test keeps how far it has come."""
    return tmp_path / "checkpoint"
