"""Apache Kafka's tools against the cluster of a file (`ground`)."""

from collections.abc import Iterator

import pytest
from kafka_tools import KafkaTools

from mixed.ground import Ground


@pytest.fixture(scope="module")
def tools(ground: Ground) -> Iterator[KafkaTools]:
    """Those of 3.9.1."""
    made = KafkaTools("3.9.1", ground.bootstrap)
    yield made
    made.close()
