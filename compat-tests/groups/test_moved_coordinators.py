"""Groups and transactions of real clients while their coordinator dies, stops and is cut off.

Three brokers, three replicas of everything. Whoever coordinates is disturbed in turn; at the end
every commit that a client was told of stands, and every record was transformed exactly once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from broker_admin import BrokerAdmin, unique_name
from client_builds import Family
from clients import ClientFailed, ClientPool, wait_until
from clients import Member as GroupMember
from confluent_kafka import Consumer, Producer, TopicPartition
from families import JAVA_NEWEST, KAFKA_PYTHON, LIBRDKAFKA

import barnabas
from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC

pytestmark = pytest.mark.broker_says(  # one that is cut off
    "the session with the registry has ended", "tried again.*ConnectionLoss", always=False
)

PARTITIONS = 4
PATIENCE_S = 90.0
SETTINGS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "min.insync.replicas": 2,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 2,
}
FAMILIES = {family.name: family for family in (LIBRDKAFKA, KAFKA_PYTHON, JAVA_NEWEST)}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)

Disturb = Callable[[barnabas.Cluster, str], None]


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(3, SETTINGS) as made:
        for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
            made[0].run(made[0].server.topics.ensure_internal(topic))
        yield made


@pytest.fixture(scope="module")
def admin(cluster: barnabas.Cluster) -> BrokerAdmin:
    return BrokerAdmin(cluster.bootstrap_servers)


@pytest.fixture(scope="module")
def pool(cluster: barnabas.Cluster) -> Iterator[ClientPool]:
    made = ClientPool(cluster.bootstrap_servers)
    yield made
    made.close()


# What happens to the leader of a topic's first partition; afterwards everything is in sync again.


def is_killed(cluster: barnabas.Cluster, topic: str) -> None:
    leader = cluster.leader_of(topic)
    leader.kill()
    cluster.wait_for_leader(topic, other_than=leader)
    leader.start()


def is_stopped(cluster: barnabas.Cluster, topic: str) -> None:
    leader = cluster.leader_of(topic)
    leader.stop()
    cluster.wait_for_leader(topic, other_than=leader)
    leader.start()


def is_cut_off(cluster: barnabas.Cluster, topic: str) -> None:
    """Clients reach it all the time, and it believes that it leads."""
    leader = cluster.leader_of(topic)
    cluster.isolate(leader)
    cluster.wait_for_leader(topic, other_than=leader)
    cluster.heal()


def everywhere_in_sync(cluster: barnabas.Cluster, *topics: str) -> None:
    cluster.wait_for_brokers(PATIENCE_S)
    for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC, *topics):
        cluster.wait_for_isr(topic, 3)


DISTURBANCES: list[Disturb] = [is_killed, is_stopped, is_cut_off]


class Writing:
    """Writes to all partitions of a topic until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.written: set[tuple[int, int]] = set()
        self.failed: list[str] = []
        self._stopping = threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
        )
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Writing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._stopping.wait(0.01):
            self._producer.produce(
                self.topic, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._told
            )
            self._producer.poll(0)
            number += 1
        self._producer.flush(PATIENCE_S)

    def _told(self, error: object, message: object) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.written.add((message.partition(), message.offset()))


@contextmanager
def group_of_two(
    pool: ClientPool, family: Family, topic: str, group: str
) -> Iterator[list[GroupMember]]:
    options = {"topic": topic, "group": group, "commit": "sync", "timeout_ms": 0}
    with ExitStack() as members:
        yield [members.enter_context(pool.member(family, **options)) for _ in range(2)]


def acknowledged(members: list[GroupMember]) -> dict[tuple[str, int], int]:
    """The furthest commit of each partition that a member was told has been made."""
    found: dict[tuple[str, int], int] = {}
    for member in members:
        for event in member.of_kind("committed"):
            for topic, partition, offset in event["offsets"]:
                found[topic, partition] = max(offset, found.get((topic, partition), 0))
    return found


def committed(cluster: barnabas.Cluster, group: str, topic: str) -> dict[tuple[str, int], int]:
    """What the coordinator says. librdkafka's admin client crashes where that has moved."""
    asking = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "log_level": 0}
    )
    places = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    found = asking.committed(places, PATIENCE_S)
    asking.close()
    assert all(place.error is None for place in found)
    return {(place.topic, place.partition): place.offset for place in found}


def read(members: list[GroupMember]) -> set[tuple[int, int]]:
    return {
        (event["partition"], event["offset"])
        for member in members
        for event in member.of_kind("record")
    }


def until_all_commit_more(members: list[GroupMember], after: str) -> None:
    """Wait for another commit of every partition."""
    reached = acknowledged(members)
    wait_until(
        lambda: all(acknowledged(members)[each] > reached[each] for each in reached),
        f"commits after it {after}: {[member.last_words() for member in members]}",
        PATIENCE_S,
    )


@families
def test_no_commit_of_a_group_is_lost_with_its_coordinator(
    family: Family, cluster: barnabas.Cluster, admin: BrokerAdmin, pool: ClientPool
) -> None:
    topic, group = cluster.create_topic(unique_name("t"), PARTITIONS), unique_name("g")
    with (
        Writing(cluster.bootstrap_servers, topic) as writing,
        group_of_two(pool, family, topic, group) as members,
    ):
        wait_until(lambda: len(acknowledged(members)) == PARTITIONS, "commits", PATIENCE_S)
        for disturb in DISTURBANCES:
            before = acknowledged(members)
            disturb(cluster, OFFSETS_TOPIC)
            everywhere_in_sync(cluster, topic)
            kept = committed(cluster, group, topic)
            assert {key: kept[key] >= offset for key, offset in before.items()} == dict.fromkeys(
                before, True
            ), (disturb.__name__, before, kept)
            until_all_commit_more(members, disturb.__name__)
        writing.stop()
        wait_until(lambda: read(members) >= writing.written, "all records", PATIENCE_S)
        assert writing.failed == []
        ends = {(topic, index): end for index, end in admin.end_offsets(topic, PARTITIONS).items()}
        wait_until(lambda: acknowledged(members) == ends, "the last commits", PATIENCE_S)
        assert committed(cluster, group, topic) == ends


RECORDS = 400
VALUES = [b"%d" % number for number in range(RECORDS)]


@pytest.mark.parametrize("family", [LIBRDKAFKA, JAVA_NEWEST], ids=lambda family: family.name)
@pytest.mark.parametrize("disturb", DISTURBANCES)
def test_records_are_transformed_exactly_once_while_coordinators_move(
    family: Family, disturb: Disturb, cluster: barnabas.Cluster, pool: ClientPool
) -> None:
    source = cluster.create_topic(unique_name("source"))
    target = cluster.create_topic(unique_name("target"))
    fill(cluster, source)
    transforming = Transforming(pool, family, source, target)
    with transforming:
        for topic in (TRANSACTION_TOPIC, OFFSETS_TOPIC, target, source):
            transforming.wait_for_another()
            disturb(cluster, topic)
            everywhere_in_sync(cluster, source, target)
    assert committed_values(cluster.bootstrap_servers, target) == [
        b"%d" % number for number in range(RECORDS)
    ]


def fill(cluster: barnabas.Cluster, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


class Transforming:
    """A member that transforms records in small transactions, begun again where it gives up."""

    def __init__(self, pool: ClientPool, family: Family, source: str, target: str) -> None:
        self._pool, self._family, self._target = pool, family, target
        self._options = {
            "topic": source, "to": target, "group": unique_name("g"), "batch": 3,
            "transactional_id": unique_name("id"), "timeout_ms": int(PATIENCE_S * 1000),
        }  # fmt: skip
        self._thread = threading.Thread(target=self._run)
        self.failures: list[str] = []
        self.is_over = False

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join(2 * PATIENCE_S)
        assert self.is_over, self.failures

    def count(self) -> int:
        return len(committed_values(self._pool.bootstrap, self._target))

    def wait_for_another(self) -> None:
        """Until one more transaction has been committed, or there are no more."""
        reached = self.count()
        wait_until(
            lambda: self.is_over or self.count() > reached, "another transaction", PATIENCE_S
        )

    def _run(self) -> None:
        while (left := RECORDS - self.count()) > 0 and len(self.failures) < 10:
            try:
                self._pool.run(
                    self._family, "transform", count=left, seconds=PATIENCE_S, **self._options
                )
            except ClientFailed as failure:
                self.failures.append(str(failure))
        self.is_over = True


def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    """What a reader of committed records finds in the topic's partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    try:
        while (message := consumer.poll(PATIENCE_S)) is not None:
            if message.error() is None:
                values.append(message.value())
            elif message.error().name() == "_PARTITION_EOF":
                break
    finally:
        consumer.close()
    return values
