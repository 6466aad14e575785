"""Ends that were decided are made known after all, whatever happens before they are.

Every test decides ends, keeps their markers from being written, has something happen to the
broker, and finds every partition with its marker and every transactional id free for the next.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from barnabas.server.broker import Broker as ServerBroker
from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.core.topic_names import TRANSACTION_TOPIC, TopicPartition
from barnabas.server.replication.partition import Partition
from barnabas.server.requests.faults import Fault, Faults
from barnabas.server.testing.broker import Broker
from barnabas.server.testing.process_link import ProcessLink
from barnabas.server.transactions.markers import MarkerSender
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import TRANSACTIONS_V2, Transaction
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.raw_client import RawClient
from tests.server.transactions.open_transactions import is_open, markers_in, open_transaction
from tests.server.transactions.transactional_client import TransactionalClient, committed
from tests.server.waiting import eventually, wait_until

API = "WRITE_TXN_MARKERS"
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


# A process that is killed.

TOPICS = {"aaa": 3, "zzz": 3}  # one is hosted before __transaction_state, one after it
EVERYWHERE = [(topic, index) for topic, count in TOPICS.items() for index in range(count)]
IDS = 40


def value_of(number: int, *, commit: bool) -> bytes:
    return f"{'commit' if commit else 'abort'}-{number}".encode()


def prepare_many(broker: Broker) -> None:
    """Decide the ends of many transactions, in two partitions each; every third is aborted."""
    for topic, count in TOPICS.items():
        broker.create_topic(topic, count)
    broker.faults.add("drop", api=API, times=None)
    with RawClient(broker.port) as client:
        for number in range(IDS):
            commit = number % 3 != 0
            producer = TransactionalClient(client, f"txn-{number}")
            producer.init()
            places = [EVERYWHERE[number % 6], EVERYWHERE[(number + 2) % 6]]
            producer.send(value_of(number, commit=commit), places)
            producer.end(commit=commit)
        stable = [committed(client, topic, index)[1] for topic, index in EVERYWHERE]
    assert not any(stable), "no marker has been written"


def assert_all_is_known(broker: Broker) -> None:
    wanted = sorted(value_of(n, commit=True) for n in range(IDS) if n % 3 for _ in range(2))
    with RawClient(broker.port) as client:
        for topic, index in EVERYWHERE:
            wait_until(lambda topic=topic, index=index: committed(client, topic, index)[1])  # type: ignore[misc]
        found = [value for key in EVERYWHERE for value in committed(client, *key)[0]]
        assert sorted(found) == wanted
        for number in range(IDS):
            TransactionalClient(client, f"txn-{number}").init()


def test_a_broker_that_is_killed_makes_them_known_when_it_is_back() -> None:
    with Broker(process=True) as broker:
        prepare_many(broker)
        assert isinstance(broker.link, ProcessLink)
        os.kill(broker.link.process_id, signal.SIGKILL)
        wait_until(lambda: not broker.link.is_open)
        broker.start()
        assert_all_is_known(broker)


@pytest.mark.parametrize("how", ["crash", "stop"])
def test_a_broker_that_ends_makes_them_known_when_it_is_back(how: str) -> None:
    with Broker() as broker:
        prepare_many(broker)
        broker.kill() if how == "crash" else broker.ask("POST", "/control/broker/stop")
        broker.faults.clear()
        broker.start()
        assert_all_is_known(broker)


def test_one_that_ends_again_and_again_loses_none() -> None:
    """Each time after some markers have been written: their retries are known there already."""
    with Broker() as broker:
        prepare_many(broker)
        for _ in range(3):
            broker.kill()
            broker.faults.clear()
            broker.faults.add("drop", api=API, skip=10, times=None)
            broker.faults.add("close_after", api=API, skip=3, times=3)
            broker.start()
            wait_until(lambda: len(broker.requests.of(API)) > 0)
        broker.faults.clear()
        assert_all_is_known(broker)


# One transaction at the coordinator itself.


async def prepare(
    broker: ServerBroker, name: str, partitions: dict[TopicPartition, Partition], *, commit: bool
) -> None:
    """Decide the end of a transaction with a record in each of the partitions."""
    coordinator = broker.transactions
    producer = await coordinator.init_producer_id(name, 60_000, None)
    await coordinator.add_partitions(name, *producer, list(partitions), TRANSACTIONS_V2)
    for partition in partitions.values():
        open_transaction(partition, *producer, broker.clock.now_ms())
    await coordinator.end(name, *producer, commit, TRANSACTIONS_V2)


def state_of(broker: ServerBroker, name: str) -> Transaction | None:
    """What the coordinator knows of an id; None while it is loaded."""
    return next(
        (t for t in broker.transactions.all_transactions() if t.transactional_id == name), None
    )


def is_complete(broker: ServerBroker, name: str) -> bool:
    found = state_of(broker, name)
    return found is not None and found.state in COMPLETE


def open_in(partition: Partition) -> bool:
    return bool(partition.log.producers.ongoing)


# Nobody leads when the coordinator is loaded (KAFKA-20734).


async def coordinate_on_first(cluster: Cluster) -> tuple[ServerBroker, ServerBroker]:
    """Two brokers: the first coordinates, the second leads what is written to."""
    first = await cluster.start(0, transaction_state_log_num_partitions="2")
    await first.topics.ensure_internal(TRANSACTION_TOPIC)
    await first.topics.wait_until_served(TRANSACTION_TOPIC, 10_000, 2)
    second = await cluster.start(1)
    await first.topics.create("t", {0: [1], 1: [0]}, {})
    for broker in (first, second):
        await eventually(partial(knows, broker, "t"))
    return first, second


def knows(broker: ServerBroker, topic: str) -> bool:
    return topic in broker.metadata.topics


def holding(broker: ServerBroker) -> Faults:
    """Markers do not arrive at the broker."""
    faults = broker.dispatcher.faults = Faults()
    faults.add(Fault(action="close", api=ApiKey.WRITE_TXN_MARKERS))
    return faults


@pytest.mark.parametrize("commit", [True, False])
def test_a_partition_without_a_leader_at_loading_gets_its_marker(
    tmp_path: Path, commit: bool
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 0) as cluster:
            first, second = await coordinate_on_first(cluster)
            for broker in (first, second):
                holding(broker)
            here, there = first.replicas.require("t", 1), second.replicas.require("t", 0)
            await prepare(first, "x", {there.key: there, here.key: here}, commit=commit)
            await cluster.stop(second)
            await cluster.crash(first)
            cluster.let_sessions_expire()
            cluster.ensemble.expire_sessions()
            first = await cluster.start(0, transaction_state_log_num_partitions="2")
            await eventually(lambda: state_of(first, "x") is not None)
            await eventually(lambda: not open_in(first.replicas.require("t", 1)))
            info = first.metadata.partition("t", 0)
            assert info is not None and info.leader_id == NO_LEADER
            first.clock.advance("1 hour")
            assert not is_complete(first, "x")
            second = await cluster.start(1)
            await eventually(lambda: is_complete(first, "x"))
            await eventually(lambda: second.replicas.find("t", 0) is not None)
            there = second.replicas.require("t", 0)
            assert not open_in(there)
            assert [outcome for _, _, outcome in markers_in(there)] == [commit]

    asyncio.run(scene())


def test_the_check_is_one_kafkas_way_is_caught_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not known here is taken for deleted: then the end is lost."""

    async def only_what_is_known(
        sender: MarkerSender, partitions: frozenset[TopicPartition]
    ) -> frozenset[TopicPartition]:
        infos = {key: sender._metadata.partition(*key) for key in partitions}
        return frozenset(k for k, info in infos.items() if info and info.leader_id != NO_LEADER)

    monkeypatch.setattr(MarkerSender, "_still_there", only_what_is_known)
    with pytest.raises(AssertionError):
        test_a_partition_without_a_leader_at_loading_gets_its_marker(tmp_path, True)


# A topic is deleted.


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker({"transaction.state.log.num.partitions": 2}) as made:
        yield made


def on_server(broker: Broker, *topics: str) -> dict[TopicPartition, Partition]:
    """The first partitions of topics that are made."""
    found = {}
    for topic in topics:
        broker.create_topic(topic)
        found[topic, 0] = broker.server.replicas.require(topic, 0)
    broker.run(broker.server.topics.ensure_internal(TRANSACTION_TOPIC))
    return found


def test_a_topic_deleted_before_its_marker_holds_nothing_up(broker: Broker) -> None:
    partitions = on_server(broker, "gone", "kept")
    broker.faults.add("drop", api=API, times=None)
    broker.run(prepare(broker.server, "x", partitions, commit=True))
    broker.run(broker.server.topics.mark_for_deletion("gone"))
    broker.run(broker.server.topics.wait_until_deleted("gone", 10_000))
    assert not broker.call(lambda: is_complete(broker.server, "x"))
    broker.faults.clear()
    wait_until(lambda: broker.call(lambda: is_complete(broker.server, "x")))
    assert not broker.call(lambda: open_in(partitions["kept", 0]))


def test_a_topic_deleted_while_nobody_ran_holds_nothing_up(broker: Broker) -> None:
    partitions = on_server(broker, "gone", "kept")
    broker.faults.add("drop", api=API, times=None)
    broker.run(prepare(broker.server, "x", partitions, commit=True))
    broker.run(broker.server.registry.topics.mark_for_deletion("gone"))
    broker.kill()
    broker.faults.clear()
    broker.start()
    wait_until(lambda: broker.call(lambda: is_complete(broker.server, "x")))
    assert "gone" not in broker.server.metadata.topics
    assert not broker.call(lambda: open_in(broker.server.replicas.require("kept", 0)))


def test_a_topic_made_again_gets_a_marker_that_changes_nothing(broker: Broker) -> None:
    partitions = on_server(broker, "again")
    broker.faults.add("drop", api=API, times=None)
    broker.run(prepare(broker.server, "x", partitions, commit=True))
    broker.run(broker.server.topics.mark_for_deletion("again"))
    broker.run(broker.server.topics.wait_until_deleted("again", 10_000))
    broker.create_topic("again")
    other = broker.server.replicas.require("again", 0)
    broker.call(partial(open_transaction, other, 77))
    broker.faults.clear()
    wait_until(lambda: broker.call(lambda: is_complete(broker.server, "x")))
    assert broker.call(partial(is_open, other, 77)), "that of another producer goes on"


# A data directory is offline.


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
def test_partitions_on_a_failed_disk_get_their_markers_when_it_is_back(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in ("one", "two")]
    for each in directories:
        each.mkdir()
    settings = {
        "log.dirs": ",".join(map(str, directories)),
        "transaction.state.log.num.partitions": 1,
    }
    with Broker(settings, data_dir=tmp_path) as broker:
        partitions = on_server(broker, *(f"t{n}" for n in range(6)))
        coordinating = broker.server.replicas.require(TRANSACTION_TOPIC, 0).log.directory
        (failed,) = (
            each
            for each in broker.server.disks.directories
            if not coordinating.startswith(f"{each.path}/")
        )
        on_failed = [k for k, p in partitions.items() if p.log.directory.startswith(failed.path)]
        assert 0 < len(on_failed) < 6
        broker.faults.add("drop", api=API, times=None)
        broker.run(prepare(broker.server, "x", partitions, commit=False))
        broker.call(lambda: failed.fail(OSError(5, "Input/output error")))
        broker.faults.clear()
        alive = [p for key, p in partitions.items() if key not in on_failed]
        wait_until(lambda: not any(broker.call(partial(open_in, each)) for each in alive))
        broker.clock.advance("1 hour")
        assert not broker.call(lambda: is_complete(broker.server, "x"))
        broker.restart()
        wait_until(lambda: broker.call(lambda: is_complete(broker.server, "x")))
        for topic, index in on_failed:
            partition = broker.server.replicas.require(topic, index)
            assert not broker.call(partial(open_in, partition))
            outcomes = [outcome for _, _, outcome in broker.call(partial(markers_in, partition))]
            assert outcomes == [False]


# The producer goes on.


def test_a_producer_that_goes_on_waits_for_its_last_markers(broker: Broker) -> None:
    """With version 2 it knows its next epoch before they are written (KIP-890)."""
    on_server(broker, "t")
    broker.faults.add("delay", api=API, delay_ms=200, times=None)
    with RawClient(broker.port) as client:
        producer = TransactionalClient(client, "txn")
        producer.init()
        for number in range(6):
            assert producer.write_and_add("t", 0, b"%d" % number) is ErrorCode.NONE
            producer.end_raising_epoch(commit=number % 2 == 0)
        broker.faults.clear()
        wait_until(lambda: committed(client, "t", 0)[1])
        assert committed(client, "t", 0)[0] == [b"0", b"2", b"4"]
    outcomes = [commit for _, _, commit in broker.call(
        lambda: markers_in(broker.server.replicas.require("t", 0))
    )]  # fmt: skip
    assert outcomes == [True, False] * 3
