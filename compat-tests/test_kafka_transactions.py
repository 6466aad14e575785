"""Apache Kafka's tools for transactions and features, of 4.4.0 and 3.9.1, work unchanged.

Issue 14, item 2: kafka-transactions and kafka-features. What kafka-dump-log reads is in
`test_transactions_on_disk.py`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from broker_admin import BrokerAdmin, unique_name
from clients import ClientPool
from families import FRANZ_GO
from features import FEATURE, finalized_transaction_version, set_transaction_version
from kafka_tools import RELEASES, KafkaTools
from raw_producer import RawProducer
from transactors import Refused, Transactor, transactor

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record

PATIENCE_SECONDS = 20.0
HOUR_MS = 3_600_000
Row = dict[str, str]


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest, broker_address: str) -> Iterator[KafkaTools]:
    """The tools of one release."""
    tools = KafkaTools(request.param, broker_address)
    yield tools
    tools.close()


@pytest.fixture
def topic(broker_admin: BrokerAdmin) -> str:
    return broker_admin.create_topic("transactions")


@pytest.fixture
def producer(clients: ClientPool) -> Iterator[Transactor]:
    """A producer that has its id; franz-go knows transactions of both versions."""
    with transactor(clients, FRANZ_GO, unique_name("tool")) as producer:
        producer.init()
        yield producer


def rows(tools: KafkaTools, *arguments: str) -> list[Row]:
    """The tool's table."""
    heading, *lines = tools.ok("kafka-transactions", *arguments).lines
    names = heading.split()
    return [dict(zip(names, line.split(), strict=False)) for line in lines]


def wait_for(ask: Callable[[], list[Row]], condition: Callable[[Row], bool]) -> Row:
    """Ask until the only row is as it should be: a transaction's end goes on behind the answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        (row,) = ask()
        if condition(row):
            return row
        assert time.monotonic() < deadline, row


def listed(tools: KafkaTools, name: str, *filters: str) -> list[Row]:
    found = rows(tools, "list", *filters)
    return [row for row in found if row["TransactionalId"] == name]


def described(tools: KafkaTools, name: str) -> list[Row]:
    return rows(tools, "describe", "--transactional-id", name)


def producers_of(tools: KafkaTools, topic: str) -> list[Row]:
    return rows(tools, "describe-producers", "--topic", topic, "--partition", "0")


def test_a_transaction_is_listed_and_described_while_it_goes_on_and_when_it_has_ended(
    tools: KafkaTools, producer: Transactor, broker_admin: BrokerAdmin, topic: str
) -> None:
    other = broker_admin.create_topic("other")
    (empty,) = listed(tools, producer.transactional_id)
    assert empty["TransactionState"] == "Empty"
    producer.begin()
    producer.send(topic, 3, "p")
    producer.send(other, 2, "p")
    (row,) = listed(tools, producer.transactional_id)
    assert row["TransactionState"] == "Ongoing"
    (ongoing,) = described(tools, producer.transactional_id)
    assert ongoing["ProducerId"] == row["ProducerId"] == empty["ProducerId"]
    assert ongoing["CoordinatorId"] == row["Coordinator"]
    assert (ongoing["TransactionState"], ongoing["TransactionTimeoutMs"]) == ("Ongoing", "60000")
    assert set(ongoing["TopicPartitions"].split(",")) == {f"{topic}-0", f"{other}-0"}
    now_ms = time.time() * 1000
    assert abs(now_ms - int(ongoing["CurrentTransactionStartTimeMs"])) < HOUR_MS
    assert 0 <= int(ongoing["TransactionDurationMs"]) < HOUR_MS
    producer.commit()
    complete = wait_for(
        lambda: described(tools, producer.transactional_id),
        lambda row: row["TransactionState"] == "CompleteCommit",
    )
    assert complete["CurrentTransactionStartTimeMs"] == ongoing["CurrentTransactionStartTimeMs"]
    assert "TopicPartitions" not in complete  # there are none


def test_the_list_is_filtered_by_duration(
    tools: KafkaTools, producer: Transactor, topic: str
) -> None:
    name = producer.transactional_id
    producer.begin()
    producer.send(topic, 1, "p")
    assert len(listed(tools, name, "--duration-filter", "0")) == 1
    assert listed(tools, name, "--duration-filter", str(HOUR_MS)) == []
    producer.abort()


@pytest.mark.parametrize("release", ["4.4.0"])
def test_the_list_is_filtered_by_pattern(
    release: str, broker_address: str, producer: Transactor
) -> None:
    """KIP-1152 gave 4.1 and later the option."""
    tools, name = KafkaTools(release, broker_address), producer.transactional_id
    try:
        assert len(listed(tools, name, "--transactional-id-pattern", f"{name[:-1]}.")) == 1
        assert len(listed(tools, name, "--transactional-id-pattern", "(no|tool)-[0-9-]+")) == 1
        assert listed(tools, name, "--transactional-id-pattern", name[:-1]) == []
        bad = tools.run("kafka-transactions", "list", "--transactional-id-pattern", "(")
        assert bad.exit_code == 1
    finally:
        tools.close()


def test_an_unknown_transactional_id_is_refused(tools: KafkaTools) -> None:
    refused = tools.run(
        "kafka-transactions", "describe", "--transactional-id", unique_name("nobody")
    )
    assert refused.exit_code == 1
    assert "failed because the ID could not be found" in refused.err


def test_the_producers_of_a_partition_are_described(
    tools: KafkaTools, producer: Transactor, topic: str
) -> None:
    producer.begin()
    producer.send(topic, 3, "p")
    (row,) = producers_of(tools, topic)
    (told,) = described(tools, producer.transactional_id)
    assert (row["ProducerId"], row["ProducerEpoch"]) == (told["ProducerId"], told["ProducerEpoch"])
    assert (row["LastSequence"], row["CurrentTransactionStartOffset"]) == ("2", "0")
    producer.commit()
    wait_for(
        lambda: producers_of(tools, topic),
        lambda row: row["CurrentTransactionStartOffset"] == "None",
    )


@pytest.fixture
def unverified(tools: KafkaTools) -> Iterator[None]:
    """Without verification a batch may open a transaction that no coordinator knows of."""
    default = ("--alter", "--entity-type", "brokers", "--entity-default")
    setting = "transaction.partition.verification.enable"
    tools.ok("kafka-configs", *default, "--add-config", f"{setting}=false")
    yield
    tools.ok("kafka-configs", *default, "--delete-config", setting)


def test_a_hanging_transaction_is_found_and_aborted(
    tools: KafkaTools, unverified: None, broker_admin: BrokerAdmin, topic: str
) -> None:
    _hang(tools.bootstrap, topic)
    assert broker_admin.last_stable_offset(topic) == 0
    broker = tools.ok("kafka-topics", "--describe", "--topic", topic).out
    broker_id = broker.partition("Leader: ")[2].split()[0]
    found = rows(tools, "find-hanging", "--broker-id", broker_id)
    assert [(row["Topic"], row["StartOffset"]) for row in found if row["Topic"] == topic] == [
        (topic, "0")
    ]
    place = ("--topic", topic, "--partition", "0")
    tools.ok("kafka-transactions", "abort", *place, "--start-offset", "0")
    found = rows(tools, "find-hanging", "--topic", topic)
    assert found == []
    assert broker_admin.last_stable_offset(topic) == 3


def _hang(bootstrap: str, topic: str) -> None:
    """Two records of a transaction that began an hour ago and that nobody will end."""
    then_ms = int(time.time() * 1000) - HOUR_MS
    records = [Record(offset=i, timestamp=then_ms, key=None, value=b"v") for i in range(2)]
    batch = build_batch(
        records, producer_id=9_000_001, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    producer = RawProducer(bootstrap)
    producer.append(topic, 1, bytes(batch), transactional_id=unique_name("hanging"))
    producer.close()


def feature_levels(tools: KafkaTools) -> dict[str, str]:
    """What `describe` says of our feature, by the words before the colons."""
    lines = tools.ok("kafka-features", "describe").lines
    (line,) = (line for line in lines if f"Feature: {FEATURE}" in line)
    return dict(re.findall(r"(\w+): (\S+)", line))


def test_the_version_of_transactions_is_lowered_and_raised(
    tools: KafkaTools, broker_address: str, producer: Transactor, topic: str
) -> None:
    set_to = f"{FEATURE}={{}}".format
    told = feature_levels(tools)
    assert (told["SupportedMinVersion"], told["SupportedMaxVersion"]) == ("0", "2")
    if finalized_transaction_version(broker_address) != 2:
        set_transaction_version(broker_address, 2)
    assert feature_levels(tools)["FinalizedVersionLevel"] == "2"
    producer.begin()
    producer.send(topic, 2, "under-2")
    tools.ok("kafka-features", "downgrade", "--feature", set_to(1))
    assert feature_levels(tools)["FinalizedVersionLevel"] == "1"
    producer.commit()
    refused = tools.run("kafka-features", "upgrade", "--feature", set_to(99))
    assert refused.exit_code == 1
    tools.ok("kafka-features", "upgrade", "--feature", set_to(2))
    assert feature_levels(tools)["FinalizedVersionLevel"] == "2"
    assert finalized_transaction_version(broker_address) == 2
    producer.begin()
    producer.send(topic, 2, "under-2-again")
    producer.commit()


@pytest.mark.parametrize("release", ["4.4.0"])
def test_a_transaction_is_terminated_by_its_transactional_id(
    release: str, broker_address: str, producer: Transactor, broker_admin: BrokerAdmin, topic: str
) -> None:
    """The command came with 4.x."""
    tools = KafkaTools(release, broker_address)
    try:
        producer.begin()
        producer.send(topic, 3, "p")
        name = ("--transactionalId", producer.transactional_id)
        tools.ok("kafka-transactions", "forceTerminateTransaction", *name)
        wait_for(
            lambda: described(tools, producer.transactional_id),
            lambda row: row["TransactionState"] == "Empty",
        )
        assert broker_admin.last_stable_offset(topic) == 4
        with pytest.raises(Refused):
            producer.commit()
    finally:
        tools.close()


def test_the_performance_test_writes_transactions(
    tools: KafkaTools, broker_admin: BrokerAdmin, topic: str
) -> None:
    done = tools.run_bare(
        "kafka-producer-perf-test", "--topic", topic, "--num-records", "5000",
        "--record-size", "200", "--throughput", "-1", "--transactional-id", unique_name("perf"),
        "--transaction-duration-ms", "20", "--producer-props",
        f"bootstrap.servers={tools.bootstrap}",
    )  # fmt: skip
    assert done.exit_code == 0, done
    assert done.lines[-1].startswith("5000 records sent")
    read = tools.ok(
        "kafka-console-consumer", "--topic", topic, "--partition", "0", "--offset", "earliest",
        "--isolation-level", "read_committed", "--max-messages", "5000", "--timeout-ms", "10000",
    )  # fmt: skip
    assert len(read.lines) == 5000
    assert broker_admin.last_stable_offset(topic) == broker_admin.end_offset(topic) > 5000
