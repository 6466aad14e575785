"""The application against a broker that works, and one that does not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from orders import Orders


def place(bootstrap_servers: str, topic: str, *orders: tuple[str, int], **stamp: Any) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for customer, amount in orders:
        value = json.dumps({"customer": customer, "amount": amount})
        producer.produce(topic, value, customer, **stamp)
    assert producer.flush(30) == 0


@pytest.fixture
def app(barnabas_broker: Any) -> Any:
    """The application with its topic, closed behind the test."""
    topic = barnabas_broker.create_topic("orders")
    made = Orders(barnabas_broker.bootstrap_servers, topic)
    yield made
    made.close()


def test_adds_up_by_customer(barnabas_broker: Any, app: Orders) -> None:
    place(barnabas_broker.bootstrap_servers, "orders", ("ann", 3), ("bob", 5), ("ann", 4))
    app.run(3)
    assert app.totals == {"ann": 7, "bob": 5}


def test_a_broker_error_on_the_third_commit_is_retried(barnabas_broker: Any, app: Orders) -> None:
    fault = barnabas_broker.faults.add(
        "error", api="OFFSET_COMMIT", error="REQUEST_TIMED_OUT", skip=2
    )
    place(barnabas_broker.bootstrap_servers, "orders", *[("ann", 1)] * 5)
    app.run(5)
    assert app.totals == {"ann": 5}
    assert fault.hits == 1
    assert len(barnabas_broker.requests.of("OFFSET_COMMIT")) >= 6


def test_a_slow_fetch_only_takes_longer(barnabas_broker: Any, app: Orders) -> None:
    fault = barnabas_broker.faults.add("delay", api="FETCH", delay_ms=700, times=1)
    place(barnabas_broker.bootstrap_servers, "orders", ("ann", 1))
    app.run(1)
    assert app.totals == {"ann": 1}
    assert fault.hits == 1


def test_a_leader_that_is_gone_for_a_second(barnabas_broker: Any, app: Orders) -> None:
    place(barnabas_broker.bootstrap_servers, "orders", ("ann", 1))
    app.run(1)
    gone = barnabas_broker.faults.add(
        "error", api="FETCH", topic="orders", error="NOT_LEADER_OR_FOLLOWER", times=None
    )
    place(barnabas_broker.bootstrap_servers, "orders", ("ann", 2))
    deadline = time.monotonic() + 1
    while gone.hits == 0 or time.monotonic() < deadline:
        time.sleep(0.01)
    barnabas_broker.faults.remove(gone)
    app.run(1)
    assert app.totals == {"ann": 3}


def test_a_lost_reply_does_not_double_an_order(barnabas_broker: Any, app: Orders) -> None:
    lost = barnabas_broker.faults.add("close_after", api="PRODUCE", topic="orders")
    producer = Producer(
        {
            "bootstrap.servers": barnabas_broker.bootstrap_servers,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    producer.produce("orders", json.dumps({"customer": "ann", "amount": 1}))
    assert producer.flush(30) == 0
    app.run(1)
    assert lost.hits == 1
    assert app.totals == {"ann": 1}


def test_a_session_ends_when_its_time_passes(barnabas_broker: Any, app: Orders) -> None:
    place(barnabas_broker.bootstrap_servers, "orders", ("ann", 1))
    app.run(1)
    barnabas_broker.requests.clear()
    barnabas_broker.clock.advance("1 hour")
    place(barnabas_broker.bootstrap_servers, "orders", ("ann", 2))
    app.run(1)
    assert barnabas_broker.requests.of("JOIN_GROUP")
    assert app.totals == {"ann": 3}


def test_old_orders_go_when_their_retention_is_over(barnabas_fresh_broker: Any) -> None:
    topic = barnabas_fresh_broker.create_topic(
        "orders", settings={"retention.ms": 3_600_000, "segment.ms": 60_000}
    )
    address = barnabas_fresh_broker.bootstrap_servers
    place(address, topic, ("ann", 1))
    barnabas_fresh_broker.clock.advance("2 hours")
    place(address, topic, ("bob", 2))
    reader = Consumer({"bootstrap.servers": address, "group.id": "watermarks"})
    low, high = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    reader.close()
    assert (low, high) == (1, 2)


def test_a_snapshot_is_a_place_to_go_back_to(barnabas_fresh_broker: Any, tmp_path: Path) -> None:
    topic = barnabas_fresh_broker.create_topic("orders")
    address = barnabas_fresh_broker.bootstrap_servers
    place(address, topic, ("ann", 1))
    barnabas_fresh_broker.snapshot(tmp_path / "one order")
    place(address, topic, ("bob", 2))
    barnabas_fresh_broker.restore(tmp_path / "one order")
    place(address, topic, ("cyd", 3))
    app = Orders(address, topic)
    app.run(2)
    app.close()
    assert app.totals == {"ann": 1, "cyd": 3}
