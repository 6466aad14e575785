"""One Spark for the tests of a process, as `barnabas pipeline` makes it, smaller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from oracles import require_oracle, require_package

from barnabas.pipeline.spark.kafka import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.memory": "1g",
    # A JVM that lives for a minute is compiled as far as pays within it: a third less CPU.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stopTimeout": "30s",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of two cores with the Kafka connector; its JVM is gone afterwards."""
    require_package("pyspark")
    from barnabas.pipeline.spark.session import running_session

    jars = require_oracle("jars-spark-4.2.0")
    with running_session("tests", master="local[2]", jars=jars, settings=SETTINGS) as made:
        yield made


@pytest.fixture
def cluster(broker_address: str) -> KafkaCluster:
    """The broker under test, as the jobs are told of it."""
    return KafkaCluster(broker_address)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves the socket of a result that it has read to the garbage collector."""
    here = Path(__file__).parent
    ignored = pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    )
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(ignored)
