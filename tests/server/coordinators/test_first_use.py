"""Whoever is first makes the topic of a coordinator, whichever it is."""

import asyncio

import pytest

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.delayed import Deferred
from barnabas.server.testing.broker import Broker

SETTINGS = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 3}


@pytest.mark.parametrize(
    ("topic", "partitions"), [("__consumer_offsets", 2), ("__transaction_state", 3)]
)
def test_the_topic_is_there_before_the_request_is_served(topic: str, partitions: int) -> None:
    with Broker(SETTINGS) as broker:
        metadata, log = broker.server.metadata, broker.server.log
        topics = metadata.topics

        def serve() -> int:
            return len(topics[topic].partitions)

        async def first_and_second() -> list[int]:
            assert is_first_use(metadata, topic)
            served = await asyncio.gather(
                *(after_creation(broker.server.topics, topic, serve, log) for _ in range(2))
            )
            assert not is_first_use(metadata, topic)
            return served

        assert broker.run(first_and_second()) == [partitions] * 2
        assert list(topics) == [topic], "and no other"


def test_an_answer_that_comes_later_is_waited_for() -> None:
    with Broker(SETTINGS) as broker:
        server = broker.server

        async def ask() -> str:
            deferred: Deferred[str] = Deferred()
            asyncio.get_running_loop().call_later(0.01, deferred.give, "later")
            return await after_creation(
                server.topics, "__transaction_state", lambda: deferred, server.log
            )

        assert broker.run(ask()) == "later"
