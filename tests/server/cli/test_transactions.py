"""`barnabas transactions`: what it shows of real producers, and what it ends."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from tests.server.cli.conftest import Run
from tests.server.raw_client import RawClient
from tests.server.records import produce
from tests.server.transaction_requests import Transactional, find_coordinator

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One that takes transactions that were never begun: only so they can hang."""
    with Broker({"transaction.partition.verification.enable": "false"}) as made:
        yield made


@contextmanager
def transaction(broker: Broker, name: str, topic: str) -> Iterator[Producer]:
    """A producer with a record in an open transaction; it is aborted in the end."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name}
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(30)
    try:
        yield producer
    finally:
        producer.abort_transaction(30)


def hang(
    broker: Broker, topic: str, producer_id: int, age_ms: int = HOUR_MS, name: str = "nobody"
) -> int:
    """Write a record in a transaction that no coordinator knows of; its offset."""
    record = Record(0, int(time.time() * 1000) - age_ms, b"k", b"v")
    batch = build_batch(
        [record], producer_id=producer_id, producer_epoch=3, base_sequence=0, is_transactional=True
    )
    with RawClient(broker.port) as client:
        answer = produce(client, topic, batch, transactional_id=name)
    assert answer.error_code == 0
    return answer.base_offset


def committed(run: Run, topic: str) -> list[str]:
    """What readers of committed records see, once nothing holds them up."""
    return run("consume", topic, "--committed").stdout.splitlines()


def test_an_open_transaction(run: Run, broker: Broker) -> None:
    broker.create_topic("opened", 2)
    with transaction(broker, "an-open-one", "opened"):
        (listed,) = run("transactions", "list", "--pattern", "an-open.*", "--json").rows
        assert listed.pop("producer_id") >= 0
        assert listed == {
            "transactional_id": "an-open-one", "coordinator": 0, "state": "Ongoing"
        }  # fmt: skip
        (row,) = run("transactions", "describe", "an-open-one", "--json").rows
        assert row.pop("producer_id") >= 0 and row.pop("producer_epoch") >= 0
        assert 0 <= row.pop("duration_ms") and 0 < row.pop("start_ms")
        assert row == {
            "transactional_id": "an-open-one", "coordinator": 0, "state": "Ongoing",
            "timeout_ms": 60_000, "topic": "opened", "partition": 0,
        }  # fmt: skip
    (ended,) = run("transactions", "describe", "an-open-one", "--json").rows
    assert (ended["topic"], ended["partition"], ended["duration_ms"]) == (None, None, None)


def test_only_what_the_filters_leave(run: Run, broker: Broker, client: RawClient) -> None:
    find_coordinator(client, "f-1")
    first, second = (Transactional(client, name).begin() for name in ("f-1", "f-2"))
    broker.create_topic("filtered")
    second.add(("filtered", 0))

    def names(*filters: str) -> list[str]:
        rows = run("transactions", "list", *filters, "--json").rows
        return [row["transactional_id"] for row in rows if row["transactional_id"] != "an-open-one"]

    assert names() == ["f-1", "f-2"]
    assert names("--state", "ongoing") == ["f-2"]
    assert names("--state", "Empty", "--state", "Ongoing") == ["f-1", "f-2"]
    assert names("--producer-id", str(first.id.producer_id)) == ["f-1"]
    assert names("--pattern", "f-[13]") == ["f-1"]
    assert names("--pattern", "f") == []
    assert names("--state", "Ongoing", "--longer-than", "1h") == []
    broker.clock.advance("30s")
    assert names("--state", "Ongoing", "--longer-than", "25s") == ["f-2"]
    none = run("transactions", "list", "--state", "Dead")
    assert (none.code, none.stdout, none.stderr) == (0, "", "no transactional ids\n")
    second.end(commit=False)


def test_a_transaction_that_hangs_is_found_and_ended(run: Run, broker: Broker) -> None:
    broker.create_topic("stuck")
    offset = hang(broker, "stuck", 5000)
    hang(broker, "stuck", 5001, age_ms=HOUR_MS // 6)
    assert run("produce", "stuck", stdin="after\n").code == 0
    (found,) = run("transactions", "find-hanging", "--topic", "stuck", "--json").rows
    assert found.pop("last_ms") < time.time() * 1000 - HOUR_MS
    assert found.pop("duration_ms") >= HOUR_MS
    assert found == {
        "topic": "stuck", "partition": 0, "producer_id": 5000, "producer_epoch": 3,
        "coordinator_epoch": -1, "start_offset": offset,
    }  # fmt: skip
    both = run("transactions", "find-hanging", "--max-transaction-timeout", "5m", "--json").rows
    assert [row["producer_id"] for row in both if row["topic"] == "stuck"] == [5000, 5001]
    for which in (("--start-offset", str(offset)), ("--producer-id", "5001")):
        done = run("transactions", "abort", "stuck", "--partition", "0", *which, "--json")
        assert [row["aborted"] for row in done.rows] == [True], done.stderr
    none = run("transactions", "find-hanging", "--topic", "stuck:0")
    assert (none.code, none.stdout, none.stderr) == (0, "", "no transaction hangs\n")
    assert committed(run, "stuck") == ["after"]


def test_an_abort_with_all_epochs_asks_nothing_first(run: Run, broker: Broker) -> None:
    broker.create_topic("told")
    hang(broker, "told", 5100)
    broker.requests.clear()
    epochs = ("--producer-id", "5100", "--producer-epoch", "3", "--coordinator-epoch", "-1")
    assert run("transactions", "abort", "told", "--partition", "0", *epochs).code == 0
    assert broker.requests.of("DESCRIBE_PRODUCERS") == []
    assert run("produce", "told", stdin="after\n").code == 0
    assert committed(run, "told") == ["after"]


def test_a_transaction_that_its_coordinator_will_end_does_not_hang(
    run: Run, broker: Broker, client: RawClient
) -> None:
    # Plan: two partitions have an old transaction of one producer; its coordinator knows of one.
    broker.create_topic("known", 2)
    find_coordinator(client, "slow")
    slow = Transactional(client, "slow").begin()
    slow.add(("known", 1))
    record = Record(0, int(time.time() * 1000) - HOUR_MS, b"k", b"v")
    batch = build_batch(
        [record], producer_id=slow.id.producer_id, producer_epoch=slow.id.epoch, base_sequence=0,
        is_transactional=True,
    )  # fmt: skip
    for partition in (0, 1):
        answer = produce(client, "known", batch, partition=partition, transactional_id="slow")
        assert answer.error_code == 0
    rows = run("transactions", "find-hanging", "--topic", "known", "--json").rows
    assert [(row["partition"], row["producer_id"]) for row in rows] == [(0, slow.id.producer_id)]
    slow.end(commit=False)


def test_a_coordinator_that_is_still_loading_is_asked_again(run: Run, broker: Broker) -> None:
    fault = broker.faults.add(
        "error", api="LIST_TRANSACTIONS", error="COORDINATOR_LOAD_IN_PROGRESS", times=2
    )
    assert run("transactions", "list", "--pattern", "none").code == 0
    assert fault.hits == 2
    broker.faults.add("error", api="LIST_TRANSACTIONS", error="CLUSTER_AUTHORIZATION_FAILED")
    refused = run("transactions", "list")
    assert (refused.code, refused.is_one_sentence()) == (1, True)
    assert refused.stderr.startswith("barnabas: broker 0: ")
    broker.faults.clear()


def test_tables_are_for_people(run: Run, broker: Broker) -> None:
    broker.create_topic("shown")
    with transaction(broker, "to-be-shown", "shown"):
        lines = run("transactions", "list", "--pattern", "to-be-shown").stdout.splitlines()
        assert lines[0].split() == ["TRANSACTIONAL", "ID", "STATE", "PRODUCER", "ID", "COORDINATOR"]
        assert lines[1].split()[:2] == ["to-be-shown", "Ongoing"]
        shown = run("transactions", "describe", "to-be-shown").stdout.splitlines()
        assert shown[1].split()[-2:] == ["shown", "0"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("describe", "wrnog"), 1, "there is no transactional id wrnog (did you mean wrong?)"),
        (("list", "--state", "Asleep"), 2, "'Asleep' is not one of"),
        (("list", "--pattern", "("), 2, "'(' is no regular expression"),
        (("list", "--longer-than", "long"), 2, "'long' is no duration"),
        (("abort", "wrong", "--partition", "0"), 2, "say which transaction: --start-offset or"),
        (("abort", "wrong", "--start-offset", "0"), 2, "missing option '--partition'"),
        (
            ("abort", "wrong", "--partition", "0", "--start-offset", "0", "--producer-epoch", "1"),
            2,
            "go together, with --producer-id",
        ),
        (
            ("abort", "wrong", "--partition", "7", "--start-offset", "0"),
            2,
            "--partition: wrong has no partition 7, only 0 to 0",
        ),
        (
            ("abort", "wrong", "--partition", "0", "--start-offset", "77"),
            1,
            "wrong 0 has no open transaction at 77; there are those at 0 of producer",
        ),
        (
            ("abort", "wrong", "--partition", "0", "--producer-id", "4"),
            1,
            "wrong 0 has no open transaction of producer 4; there are",
        ),
        (("list", "--longer-than", "99999999999 weeks"), 2, "has no room in Kafka's protocol"),
        (("list", "--producer-id", str(2**63)), 2, "is not in the range 0<=x<=9223372036854775807"),
        (("find-hanging", "--topic", "wrong:x"), 2, "as in orders:0,1"),
        (("find-hanging", "--topic", "wrogn"), 1, "did you mean wrong?"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    run: Run, broker: Broker, arguments: tuple[str, ...], code: int, words: str
) -> None:
    if run("topics", "create", "wrong", "--if-not-exists").stdout:
        hang(broker, "wrong", 5200, age_ms=0)
        with RawClient(broker.port) as client:
            find_coordinator(client, "wrong")
            Transactional(client, "wrong").begin()
    outcome = run("transactions", *arguments)
    assert outcome.code == code
    assert words in outcome.stderr
    assert outcome.is_one_sentence()
