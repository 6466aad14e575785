"""Keys go where Kafka's clients put them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.generate.partitions import partitions_of
from barnabas.pipeline.generate.texts import user_ids
from barnabas.pipeline.generate.visits import BOT_BASE, BOTS
from barnabas.server.cli.kafka_python import kafka

visitors = st.integers(0, 9_999_999) | st.integers(BOT_BASE, BOT_BASE + BOTS - 1)


@given(st.lists(visitors, min_size=1), st.integers(1, 1_000))
def test_partitions_are_those_of_the_default_partitioner(numbers: list[int], count: int) -> None:
    murmur2 = kafka("partitioner.default").murmur2
    found = partitions_of(np.array(numbers), count).tolist()
    keys = [user.encode() for user in user_ids(np.array(numbers))]
    assert found == [(murmur2(key) & 0x7FFFFFFF) % count for key in keys]
