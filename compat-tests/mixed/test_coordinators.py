"""Groups and transactions whose coordinator is ours, then Apache Kafka's, and ours again.

Kafka's brokers are 1 and 2, ours is 3. Partitions of both kinds of leaders are in every
transaction, so that markers go both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from broker_admin import unique_name
from clients import ClientPool
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from families import JAVA_LAST_WITH_ZOOKEEPER, KAFKA_PYTHON, LIBRDKAFKA

from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from mixed import asking
from mixed.ground import BESIDE_TWO, PATIENCE_S, Ground, long, mixed_ground, until
from mixed.load import Load

COORDINATORS = {"Kafka coordinates": 1, "ours coordinates": 3}
MOVES = {"from Kafka to ours": (1, 3), "from ours to Kafka": (3, 2)}
of_each = pytest.mark.parametrize("coordinator", COORDINATORS.values(), ids=COORDINATORS)
both_ways = pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
one_way_or_both = pytest.mark.parametrize(
    "move", [MOVES["from Kafka to ours"], pytest.param((3, 2), marks=long)], ids=MOVES
)
LED_BY_EACH = [[1, 3, 2], [3, 1, 2], [2, 3, 1]]
"""Replicas of a topic whose partitions are led by Kafka, ours, and Kafka."""
COUNT = 20


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with mixed_ground(BESIDE_TWO, tmp_path_factory.mktemp("coordinators")) as made:
        make_internal_topics(made)
        yield made


def make_internal_topics(ground: Ground) -> None:
    """By their first use."""
    topic = ground.create([1, 2, 3])
    producer = transactional(ground, "first")
    producer.begin_transaction()
    producer.produce(topic, b"")
    producer.commit_transaction(PATIENCE_S)
    committed(ground, "first", topic)
    for internal in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
        for partition, replicas in ground.registry.assignment(internal).items():
            ground.wait_for_isr(internal, replicas, partition)


@pytest.fixture(scope="module")
def pool(ground: Ground) -> Iterator[ClientPool]:
    made = ClientPool(ground.bootstrap)
    yield made
    made.close()


def transactional(ground: Ground, name: str, **settings: Any) -> Producer:
    """A producer that has its id."""
    options = {
        "bootstrap.servers": ground.bootstrap, "transactional.id": name, "log_level": 0,
        "transaction.timeout.ms": 60_000,
    }  # fmt: skip
    producer = Producer(options | settings)
    producer.init_transactions(PATIENCE_S)
    return producer


def send(producer: Producer, topic: str, text: str) -> None:
    """So many records to each partition, and wait until they are acknowledged."""
    for number in range(COUNT):
        for partition in range(len(LED_BY_EACH)):
            producer.produce(topic, f"{text} {number}", partition=partition)
    assert not producer.flush(PATIENCE_S)


def committed(ground: Ground, group: str, topic: str) -> dict[int, int]:
    """The group's offsets, as its coordinator tells them; those that there are."""
    port = ground.node(ground.registry.controller).ports.client
    coordinator = asking.coordinators(port, asking.GROUP, [group])[group]
    if coordinator not in ground.cluster.nodes:
        return {}
    return asking.committed(ground.node(coordinator).ports.client, group, topic)


def texts(ground: Ground, topic: str, *, is_committed: bool = True) -> list[set[str]]:
    """What a reader finds in each partition, each text once."""
    isolation = "read_committed" if is_committed else "read_uncommitted"
    reader = Consumer(
        {
            "bootstrap.servers": ground.bootstrap, "group.id": "reader", "log_level": 0,
            "isolation.level": isolation, "enable.auto.commit": False,
            "enable.partition.eof": True, "auto.offset.reset": "error",
        }
    )  # fmt: skip
    left = set(range(len(LED_BY_EACH)))
    reader.assign([TopicPartition(topic, partition, 0) for partition in left])
    found: list[list[str]] = [[] for _ in left]

    def is_read() -> bool:
        for message in reader.consume(500, 0.2):
            if message.error() is None:
                found[message.partition()].append(message.value().decode())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition())
        return not left

    until(is_read, lambda: f"{topic} {left} cannot be read to the end")
    reader.close()
    assert all(len(each) == len(set(each)) for each in found), "something is there twice"
    return [{text.rpartition(" ")[0] for text in each} for each in found]


def wait_for_texts(ground: Ground, topic: str, *wanted: str) -> None:
    """What can be read of every partition; markers are written behind the answer."""
    until(
        lambda: texts(ground, topic) == [set(wanted)] * len(LED_BY_EACH),
        lambda: f"{texts(ground, topic)}, not {wanted}",
    )


@pytest.mark.parametrize("kind", [asking.GROUP, asking.TRANSACTION], ids=["groups", "transactions"])
def test_every_broker_names_the_same_coordinators(ground: Ground, kind: int) -> None:
    """By the hash of the name, which is negative for half of them: ours took another absolute
    value of that, and knew nothing of these groups and of these open transactions."""
    names = [f"name-{'x' * (number % 9)}-{number}" for number in range(200)]
    ports = [node.ports.client for node in ground.cluster.running]

    def are_all_known() -> list[dict[str, int]] | None:
        """Each broker has heard of a leader of each partition."""
        said = [asking.coordinators(port, kind, names) for port in ports]
        return None if any(-1 in each.values() for each in said) else said

    said = until(are_all_known, "a broker does not know all coordinators")
    assert set(said[0].values()) == {1, 2, 3}
    assert said[0] == said[1] == said[2]


# --- transactions ----------------------------------------------------------------------


@of_each
def test_transactions_end_in_partitions_of_either_leader(ground: Ground, coordinator: int) -> None:
    ground.let_lead(TRANSACTION_TOPIC, coordinator)
    topic = ground.create(*LED_BY_EACH)
    producer = transactional(ground, unique_name("both"))
    for text, end in (
        ("committed", producer.commit_transaction),
        ("aborted", producer.abort_transaction),
        ("and committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        send(producer, topic, text)
        end(PATIENCE_S)
    wait_for_texts(ground, topic, "committed", "and committed")
    for partition in range(len(LED_BY_EACH)):
        ground.wait_for_same_replicas(topic, partition)


@one_way_or_both
def test_an_open_transaction_is_ended_by_the_next_coordinator(
    ground: Ground, move: tuple[int, int]
) -> None:
    """One is committed, one aborted, one left to its time-out: each was begun at the other one."""
    begun_at, ended_at = move
    ground.let_lead(TRANSACTION_TOPIC, begun_at)
    topic = ground.create(*LED_BY_EACH)
    to_commit, to_abort = (transactional(ground, unique_name(name)) for name in ("yes", "no"))
    left = transactional(ground, unique_name("left"), **{"transaction.timeout.ms": 5_000})
    for producer, text in ((to_commit, "kept"), (to_abort, "dropped"), (left, "left")):
        producer.begin_transaction()
        send(producer, topic, text)
    ground.let_lead(TRANSACTION_TOPIC, ended_at)
    to_commit.commit_transaction(PATIENCE_S)
    to_abort.abort_transaction(PATIENCE_S)
    wait_for_texts(ground, topic, "kept")  # the end of what is stable is behind all three
    last = transactional(ground, unique_name("last"))
    last.begin_transaction()
    send(last, topic, "last")
    last.commit_transaction(PATIENCE_S)
    wait_for_texts(ground, topic, "kept", "last")


@both_ways
def test_a_producer_is_fenced_by_its_successor_at_the_next_coordinator(
    ground: Ground, move: tuple[int, int]
) -> None:
    begun_at, ended_at = move
    ground.let_lead(TRANSACTION_TOPIC, begun_at)
    topic = ground.create(*LED_BY_EACH)
    name = unique_name("fenced")
    former = transactional(ground, name)
    former.begin_transaction()
    send(former, topic, "of the former")
    ground.let_lead(TRANSACTION_TOPIC, ended_at)
    successor = transactional(ground, name)
    with pytest.raises(KafkaException) as refused:
        former.commit_transaction(PATIENCE_S)
    assert refused.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)
    successor.begin_transaction()
    send(successor, topic, "of the successor")
    successor.commit_transaction(PATIENCE_S)
    wait_for_texts(ground, topic, "of the successor")


@pytest.mark.parametrize("of_group", COORDINATORS.values(), ids=["Kafka's group", "our group"])
@of_each
def test_offsets_are_committed_in_transactions_of_either_coordinator(
    ground: Ground, coordinator: int, of_group: int
) -> None:
    ground.let_lead(TRANSACTION_TOPIC, coordinator)
    ground.let_lead(OFFSETS_TOPIC, of_group)
    topic, group = ground.create(*LED_BY_EACH), unique_name("group")
    member = Consumer({"bootstrap.servers": ground.bootstrap, "group.id": group, "log_level": 0})
    producer = transactional(ground, unique_name("offsets"))
    for offset, end in (
        (7, producer.commit_transaction),
        (9, producer.abort_transaction),
        (8, producer.commit_transaction),
    ):
        before = committed(ground, group, topic)
        producer.begin_transaction()
        places = [TopicPartition(topic, partition, offset) for partition in (0, 1)]
        producer.send_offsets_to_transaction(places, member.consumer_group_metadata(), PATIENCE_S)
        assert committed(ground, group, topic) == before, "they count when the transaction does"
        end(PATIENCE_S)
        wanted = before if offset == 9 else {0: offset, 1: offset}
        until(lambda wanted=wanted: committed(ground, group, topic) == wanted,
              lambda: committed(ground, group, topic))  # fmt: skip
    member.close()


def test_producer_ids_come_from_one_controller(ground: Ground) -> None:
    """Kafka's broker and ours ask it for blocks: nobody has the same id."""
    ids: list[int] = []
    for coordinator in (1, 3, 2, 3):
        ground.let_lead(TRANSACTION_TOPIC, coordinator)
        topic = ground.create(*LED_BY_EACH)
        producer = transactional(ground, unique_name("id"))
        producer.begin_transaction()
        send(producer, topic, "mine")
        producer.commit_transaction(PATIENCE_S)
        ids += producer_ids(ground, topic)
    assert len(ids) == len(set(ids)) == 4


def producer_ids(ground: Ground, topic: str) -> set[int]:
    """Of those that have written the first partition, as its batches say."""
    (data,) = ground.wait_for_same_replicas(topic).values()
    return {int.from_bytes(data[43:51])}


# --- groups ----------------------------------------------------------------------------


def test_a_group_keeps_its_offsets_and_members_through_coordinators(
    ground: Ground, pool: ClientPool
) -> None:
    """Three clients read and commit, while the coordinator is Kafka's, ours, Kafka's, ours."""
    ground.let_lead(OFFSETS_TOPIC, 1)
    topic, group = ground.create(*LED_BY_EACH), unique_name("group")
    families = (LIBRDKAFKA, KAFKA_PYTHON, JAVA_LAST_WITH_ZOOKEEPER)
    options = {"group": group, "topic": topic, "commit": "sync", "timeout_ms": 0}
    members = []
    with Load(ground, topic, len(LED_BY_EACH)) as load:
        for family in families:
            entered = pool.member(family, **options)
            members.append((entered, entered.__enter__()))
        until(lambda: all(each.assignment for _, each in members), "not all have partitions")
        for coordinator in (3, 2, 3):
            before = committed(ground, group, topic)
            ground.let_lead(OFFSETS_TOPIC, coordinator)
            after = until(lambda: committed(ground, group, topic), "no offsets")
            assert all(after[partition] >= offset for partition, offset in before.items())
            load.wait_for_more(100)
            caught_up(ground, load, group)
    caught_up(ground, load, group)
    load.check()
    read = {
        (event["partition"], event["offset"])
        for _, member in members
        for event in member.of_kind("record")
    }
    assert load.acked.keys() <= read
    for entered, _ in members:
        entered.__exit__(None, None, None)


def caught_up(ground: Ground, load: Load, group: str) -> None:
    """The group commits everything that is acknowledged by now."""
    wanted: dict[int, int] = {}
    for partition, offset in list(load.acked):
        wanted[partition] = max(offset + 1, wanted.get(partition, 0))

    def is_there() -> bool:
        found = committed(ground, group, load.topic)
        return all(found.get(partition, 0) >= offset for partition, offset in wanted.items())

    until(is_there, lambda: f"{committed(ground, group, load.topic)}, not {wanted}")


def test_what_all_have_left_is_the_same(ground: Ground) -> None:
    ground.stop_and_compare()
