"""Ends of partitions where a leader does not tell the end of its log."""

from typing import Any

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run


def asks_for_the_end(message: Any) -> bool:
    return any(
        partition.timestamp == -1 for topic in message.topics for partition in topic.partitions
    )


def test_what_may_be_read_is_read_where_the_end_is_not_told(broker: Broker, run: Run) -> None:
    broker.create_topic("untold", 2)
    assert run("produce", "untold", "-p", "1", stdin="a\nb\n").code == 0
    fault = broker.faults.add(
        "error", api="LIST_OFFSETS", error="OFFSET_NOT_AVAILABLE", predicate=asks_for_the_end,
        times=None,
    )  # fmt: skip
    try:
        outcome = run("consume", "untold")
        assert fault.hits > 1
    finally:
        fault.remove()
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "a\nb\n", "")
