"""`broker.transactions`, and what a test can do to transactions: by a real client's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from confluent_kafka import KafkaException, Producer

import barnabas
from tests.server.raw_client import RawClient
from tests.server.transactions.transactional_client import committed
from tests.server.waiting import wait_until

PATIENCE_S = 30
API = "WRITE_TXN_MARKERS"


@pytest.fixture(scope="module", params=[False, True], ids=["thread", "process"])
def shared(request: pytest.FixtureRequest) -> Iterator[barnabas.Broker]:
    """One of each kind for the whole file."""
    with barnabas.Broker(process=request.param) as made:
        yield made


@pytest.fixture
def broker(shared: barnabas.Broker) -> Iterator[barnabas.Broker]:
    """It, with a topic, emptied behind the test."""
    # Records of librdkafka have real times, and the broker's clock is advanced by days.
    shared.create_topic("paid", 2, {"retention.ms": -1})
    shared.requests.clear()
    yield shared
    shared.clear()


def begun(broker: barnabas.Broker, name: str = "payer", **settings: object) -> Producer:
    """A producer whose transaction has a record in the first partition."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": name,
            "log_level": 0,
            **settings,
        }
    )
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("paid", b"9 coins", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return producer


def read(broker: barnabas.Broker) -> tuple[list[bytes], bool]:
    """What a reader of committed records sees, and whether nothing holds it up."""
    with RawClient(broker.port) as client:
        return committed(client, "paid", 0)


def test_a_transaction_is_shown_in_every_state(broker: barnabas.Broker) -> None:
    assert list(broker.transactions) == []
    producer = begun(broker, **{"transaction.timeout.ms": 7_000})
    (shown,) = broker.transactions
    assert shown == broker.transactions.of("payer")
    assert (shown.state, shown.timeout_ms) == ("Ongoing", 7_000)
    assert shown.partitions == (("paid", 0),)
    assert shown.producer_id >= 0 and shown.producer_epoch >= 0
    producer.commit_transaction(PATIENCE_S)
    ended = broker.transactions.wait_for("payer", "CompleteCommit")
    assert (ended.producer_id, ended.partitions) == (shown.producer_id, ())
    assert len(broker.transactions) == 1


def test_what_is_asked_for_and_not_there_is_said(broker: barnabas.Broker) -> None:
    with pytest.raises(LookupError, match="there is no transactional id nobody"):
        broker.transactions.of("nobody")
    words = r"0 transactions of nobody in state Ongoing in 0\.02 s, not 1"
    with pytest.raises(TimeoutError, match=words):
        broker.transactions.wait_for("nobody", "Ongoing", timeout_s=0.02)
    with pytest.raises(ValueError, match="`state` is 'Gone', not one of Empty, Ongoing"):
        broker.transactions.wait_for("nobody", "Gone")


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
def test_an_end_is_certain_before_it_is_known(broker: barnabas.Broker, is_commit: bool) -> None:
    producer = begun(broker)
    fault = broker.faults.add("drop", api=API, times=None)
    end = producer.commit_transaction if is_commit else producer.abort_transaction
    end(PATIENCE_S)
    wait_until(lambda: fault.hits > 2)
    shown = broker.transactions.of("payer")
    assert shown.state == ("PrepareCommit" if is_commit else "PrepareAbort")
    assert shown.partitions == (("paid", 0),)
    assert read(broker) == ([], False)
    fault.remove()
    broker.transactions.wait_for("payer", "CompleteCommit" if is_commit else "CompleteAbort")
    assert read(broker) == ([b"9 coins"] if is_commit else [], True)
    (asked,) = broker.requests.of(API)
    assert asked.client_id == "broker-0-txn-marker-sender"


def test_the_partition_of_a_fault_alone_waits(broker: barnabas.Broker) -> None:
    # Plan: one commit in two topics, and a fault for the marker of the second one. All partitions
    # of one leader are told by one request, so both wait; the first gets its marker only once.
    broker.create_topic("booked")
    producer = begun(broker)
    producer.produce("booked", b"9 coins")
    fault = broker.faults.add("drop", api=API, topic="booked", times=None)
    producer.commit_transaction(PATIENCE_S)
    wait_until(lambda: fault.hits > 0)
    assert broker.transactions.of("payer").partitions == (("booked", 0), ("paid", 0))
    fault.remove()
    broker.transactions.wait_for("payer", "CompleteCommit")
    with RawClient(broker.port) as client:
        assert (
            committed(client, "booked", 0) == committed(client, "paid", 0) == ([b"9 coins"], True)
        )


def test_markers_that_are_late_come_when_their_time_does(broker: barnabas.Broker) -> None:
    producer = begun(broker)
    late = broker.faults.add("delay", api=API, delay_ms=600_000)
    producer.commit_transaction(PATIENCE_S)
    wait_until(lambda: late.hits == 1)
    assert broker.transactions.of("payer").state == "PrepareCommit"
    assert read(broker) == ([], False)
    broker.clock.advance("10 min")
    broker.transactions.wait_for("payer", "CompleteCommit")
    assert read(broker) == ([b"9 coins"], True)


@pytest.mark.parametrize("fault", ["error", "close_after"])
def test_markers_that_are_refused_or_unanswered_are_sent_again(
    broker: barnabas.Broker, fault: Literal["error", "close_after"]
) -> None:
    producer = begun(broker)
    error = "NOT_LEADER_OR_FOLLOWER" if fault == "error" else None
    broker.faults.add(fault, api=API, times=3, error=error)
    producer.commit_transaction(PATIENCE_S)
    broker.transactions.wait_for("payer", "CompleteCommit")
    assert len(broker.requests.of(API)) == 4
    assert read(broker) == ([b"9 coins"], True)


def test_a_commit_whose_answer_is_lost_is_asked_for_again(broker: barnabas.Broker) -> None:
    producer = begun(broker)
    lost = broker.faults.add("close_after", api="END_TXN")
    producer.commit_transaction(PATIENCE_S)
    assert lost.hits == 1
    broker.transactions.wait_for("payer", "CompleteCommit")
    producer.begin_transaction()
    producer.produce("paid", b"3 coins", partition=0)
    producer.commit_transaction(PATIENCE_S)
    broker.transactions.wait_for("payer", "CompleteCommit")
    assert read(broker) == ([b"9 coins", b"3 coins"], True)


def test_a_transaction_whose_time_is_up_is_aborted(broker: barnabas.Broker) -> None:
    producer = begun(broker, **{"transaction.timeout.ms": 600_000})
    broker.clock.advance("580 s")
    assert broker.transactions.of("payer").state == "Ongoing"
    broker.clock.advance("1 min")
    broker.transactions.wait_for("payer", "CompleteAbort")
    assert read(broker) == ([], True)
    with pytest.raises(KafkaException):
        producer.commit_transaction(PATIENCE_S)
    assert read(broker) == ([], True)


def test_an_id_that_nobody_uses_is_forgotten(broker: barnabas.Broker) -> None:
    begun(broker).commit_transaction(PATIENCE_S)
    known = broker.transactions.wait_for("payer", "CompleteCommit")
    broker.clock.advance("6 days")
    assert list(broker.transactions) == [known]
    broker.clock.advance("2 days")
    wait_until(lambda: len(broker.transactions) == 0)
    begun(broker).commit_transaction(PATIENCE_S)
    anew = broker.transactions.wait_for("payer", "CompleteCommit")
    assert anew.producer_id > known.producer_id


def test_a_crash_ends_no_transaction(broker: barnabas.Broker) -> None:
    producer = begun(broker)
    broker.kill()
    broker.start()
    assert broker.transactions.wait_for("payer", "Ongoing").partitions == (("paid", 0),)
    producer.produce("paid", b"3 coins", partition=0)
    producer.commit_transaction(PATIENCE_S)
    broker.transactions.wait_for("payer", "CompleteCommit")
    assert read(broker) == ([b"9 coins", b"3 coins"], True)


def test_a_snapshot_holds_the_open_transaction(broker: barnabas.Broker, tmp_path: Path) -> None:
    # Plan: it is taken in the middle of a transaction, which commits nonetheless. Back there, the
    # transaction is open again, and nobody will ever commit it: its time ends it.
    producer = begun(broker)
    broker.snapshot(tmp_path / "open")
    producer.commit_transaction(PATIENCE_S)
    broker.transactions.wait_for("payer", "CompleteCommit")
    assert read(broker) == ([b"9 coins"], True)
    broker.restore(tmp_path / "open")
    assert broker.transactions.wait_for("payer", "Ongoing").partitions == (("paid", 0),)
    assert read(broker) == ([], False)
    broker.clock.advance("1 hour")
    broker.transactions.wait_for("payer", "CompleteAbort")
    assert read(broker) == ([], True)


def test_a_snapshot_holds_an_end_that_is_not_known_yet(
    broker: barnabas.Broker, tmp_path: Path
) -> None:
    producer = begun(broker)
    fault = broker.faults.add("drop", api=API, times=None)
    producer.commit_transaction(PATIENCE_S)
    wait_until(lambda: fault.hits > 0)
    broker.snapshot(tmp_path / "prepared")
    assert broker.transactions.wait_for("payer", "PrepareCommit")
    assert read(broker) == ([], False)
    fault.remove()
    broker.transactions.wait_for("payer", "CompleteCommit")
    broker.restore(tmp_path / "prepared")
    broker.transactions.wait_for("payer", "CompleteCommit")
    assert read(broker) == ([b"9 coins"], True)


def test_a_cleared_broker_has_forgotten_all_transactions(broker: barnabas.Broker) -> None:
    begun(broker, "open")
    broker.faults.add("drop", api=API, times=None)
    begun(broker, "prepared").commit_transaction(PATIENCE_S)
    assert [each.state for each in broker.transactions] == ["Ongoing", "PrepareCommit"]
    broker.clear()
    assert list(broker.transactions) == []
    broker.create_topic("paid", 2)
    begun(broker, "open").commit_transaction(PATIENCE_S)
    broker.transactions.wait_for("open", "CompleteCommit")
    assert read(broker) == ([b"9 coins"], True)
