"""Consumers of Kafka 0.8 and of pykafka, whose groups are znodes: members, owners, offsets.

Brokers take no part in such a group but for what its clients read of them: where they are, who
leads, and, where a client asks for it by OffsetCommit and OffsetFetch of version 0, offsets.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from client_builds import Family
from clients import Member, Program
from confluent_kafka import Consumer, Producer, TopicPartition
from families import JAVA_0_8, PYKAFKA
from zookeeper_homes import Home, ask

import barnabas
from barnabas.server.registry import paths
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore

SESSION_MS = 8_000  # of one that lives: a session that ends gives away what is not committed
PATIENCE_S = 60.0
GROUP, TOPIC = "g", "old"
PYKAFKAS_TOPIC = "b'old'"  # it writes the name as Python 3 shows bytes
PARTITIONS = 8

Owners = dict[str, str]
"""The member that owns it, by the name of a claim: a partition."""


class OldGroup:
    """A group of old consumers on a cluster of two brokers, and what stands of it in ZooKeeper."""

    def __init__(
        self, family: Family, topic_znode: str, home: Home, brokers: list[barnabas.Broker]
    ) -> None:
        self._family, self._topic_znode, self._home = family, topic_znode, home
        self.broker = brokers[0]
        self.bootstrap = ",".join(broker.bootstrap_servers for broker in brokers)
        self.written = 0

    @contextmanager
    def member(self, **options: object) -> Iterator[Member]:
        """A member, in a process of its own that ends with the block."""
        program = Program(self._family)
        given: dict[str, object] = {
            "bootstrap": self.broker.bootstrap_servers, "topic": TOPIC, "group": GROUP,
            "zookeeper": self._home.address, "session_ms": SESSION_MS, "timeout_ms": 0, **options,
        }  # fmt: skip
        try:
            yield Member(program, given)
        finally:
            program.close()

    @contextmanager
    def commands(self) -> Iterator[Callable[..., list[dict[str, object]]]]:
        """Has commands of the family carried out, by one process."""
        program = Program(self._family)
        where = {"bootstrap": self.broker.bootstrap_servers, "topic": TOPIC, "group": GROUP}
        try:
            yield lambda command, **options: program.run(command, where | options)
        finally:
            program.close()

    def write(self, count: int = 5 * PARTITIONS) -> None:
        """More records, spread evenly."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "log_level": 0})
        for _ in range(count):
            value = str(self.written).encode()
            producer.produce(TOPIC, value, partition=self.written % PARTITIONS)
            self.written += 1
        assert producer.flush(PATIENCE_S) == 0

    def members(self) -> dict[str, str]:
        """What the registered members say of themselves."""
        return self._texts(paths.consumer_ids(GROUP))

    def owners(self) -> Owners:
        """Who owns what."""
        return self._texts(paths.consumer_owners(GROUP, self._topic_znode))

    def offsets(self) -> dict[int, int]:
        """What is committed in ZooKeeper."""
        found = self._texts(f"{paths.CONSUMERS}/{GROUP}/offsets/{TOPIC}")
        return {int(partition): int(text) for partition, text in found.items()}

    def offset_in_log(self, partition: int) -> int:
        """What is committed in __consumer_offsets."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": GROUP, "log_level": 0}
        asking = Consumer(settings)
        (found,) = asking.committed([TopicPartition(TOPIC, partition)], PATIENCE_S)
        asking.close()
        assert found.error is None
        return int(found.offset)

    def _texts(self, parent: str) -> dict[str, str]:
        async def read(store: ZookeeperStore) -> dict[str, str]:
            if await store.exists(parent) is None:
                return {}
            names = await store.children(parent)
            znodes = await store.get_many([f"{parent}/{name}" for name in names])
            found = zip(names, znodes, strict=True)
            return {name: (znode.data or b"").decode() for name, znode in found if znode}

        return ask(self.broker, read)

    def until_shared(self, count: int) -> dict[str, int]:
        """Wait until so many members own everything, evenly; how much each owns."""

        found: dict[str, int] = {}

        def is_even() -> bool:
            owners = list(self.owners().values())
            found.clear()  # what is looked at again later may be given up for a moment by then
            found.update((owner, owners.count(owner)) for owner in owners)
            return (
                len(self.members()) == len(found) == count
                and sum(found.values()) == PARTITIONS
                and max(found.values()) - min(found.values()) <= 1
            )

        eventually(is_even, lambda: f"{self.members()}: {self.owners()}")
        return found


def eventually(holds: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait for a condition; `what` is said if it does not come to hold."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def values(member: Member) -> list[object]:
    """The records that a member was given, each by its place."""
    return [(event["partition"], event["offset"]) for event in member.of_kind("record")]


def until_read(count: int, *members: Member) -> list[object]:
    """Wait until the members were given so many records together, and none twice."""

    def read() -> list[object]:
        return [place for member in members for place in values(member)]

    eventually(
        lambda: len(read()) >= count,
        lambda: f"{len(read())}: {[member.last_words() for member in members]}",
    )
    assert len(set(read())) == len(read()) == count
    return read()


@pytest.fixture
def brokers(home: Home) -> Iterator[list[barnabas.Broker]]:
    """Two, each of which leads half of the topic."""
    with ExitStack() as running:
        made = [running.enter_context(home.broker({"broker.id": n}, str(n))) for n in (1, 2)]
        leaders = {index: [1 + index % 2] for index in range(PARTITIONS)}
        made[0].run(made[0].server.topics.create(TOPIC, leaders, {}))
        for broker in made:
            topics = broker.server.topics
            assert broker.run(topics.wait_until_served(TOPIC, 30_000, PARTITIONS))
        yield made


@pytest.fixture
def balanced(home: Home, brokers: list[barnabas.Broker]) -> OldGroup:
    return OldGroup(PYKAFKA, PYKAFKAS_TOPIC, home, brokers)


@pytest.fixture
def high_level(home: Home, brokers: list[barnabas.Broker]) -> OldGroup:
    return OldGroup(JAVA_0_8, TOPIC, home, brokers)


def test_three_balanced_consumers_of_pykafka_share_eight_partitions_and_outlive_one(
    balanced: OldGroup,
) -> None:
    with balanced.member() as first, balanced.member() as second, balanced.member() as third:
        shares = balanced.until_shared(3)
        assert sorted(shares.values()) == [2, 3, 3]
        assert set(balanced.members().values()) == {TOPIC}
        eventually(
            lambda: {name.partition("-")[0] for name in balanced.owners()} == {"1", "2"},
            lambda: f"not named by their leaders: {balanced.owners()}",
        )
        balanced.write()
        until_read(balanced.written, first, second, third)
        for member in (first, second, third):
            member.apply("commit")
        third.program.kill()
        assert sum(balanced.until_shared(2).values()) == PARTITIONS
        read = len(values(third))
        balanced.write()
        until_read(balanced.written - read, first, second)
        for member in (first, second):
            member.apply("commit")
            member.leave()
    assert balanced.owners() == balanced.members() == {}
    with balanced.member() as again:
        balanced.until_shared(1)
        balanced.write(PARTITIONS)
        until_read(PARTITIONS, again)


def test_high_level_consumers_of_0_8_register_own_commit_and_take_over(
    high_level: OldGroup,
) -> None:
    with high_level.member() as first, high_level.member() as second:
        assert sorted(high_level.until_shared(2).values()) == [4, 4]
        partitions = {str(index) for index in range(PARTITIONS)}
        eventually(lambda: set(high_level.owners()) == partitions, high_level.owners)
        said = [json.loads(text) for text in high_level.members().values()]
        assert [each["subscription"] for each in said] == [{TOPIC: 1}] * 2
        high_level.write()  # now: without a commit it goes back in every rebalance
        until_read(high_level.written, first, second)
        for member in (first, second):
            member.apply("commit")
        assert high_level.offsets() == dict.fromkeys(range(PARTITIONS), 5)
        second.program.kill()
        high_level.until_shared(1)
        read = len(values(second))
        high_level.write()
        until_read(high_level.written - read, first)
        first.apply("commit")
        first.leave()
    assert high_level.owners() == high_level.members() == {}
    assert high_level.offsets() == dict.fromkeys(range(PARTITIONS), 10)


def test_offsets_of_version_0_are_those_of_the_high_level_consumer(high_level: OldGroup) -> None:
    high_level.write()
    with high_level.commands() as run:
        (unknown,) = run("committed", partition=3)
        assert (unknown["offset"], unknown["code"]) == (-1, 3)
        for partition in range(PARTITIONS):
            run("commit", partition=partition, offset=5 if partition else 2)
        assert high_level.offsets() == {0: 2, **dict.fromkeys(range(1, PARTITIONS), 5)}
        with high_level.member() as member:
            assert sorted(until_read(3, member)) == [(0, 2), (0, 3), (0, 4)]
            member.apply("commit")
            member.leave()
        (known,) = run("committed", partition=0)
        assert (known["offset"], known["code"]) == (5, 0)
    assert high_level.offset_in_log(0) < 0, "later versions ask the log, which has none"


@pytest.mark.parametrize("dual", ["false", "true"])
def test_a_high_level_consumer_that_keeps_its_offsets_in_the_log(
    high_level: OldGroup, dual: str
) -> None:
    high_level.write()
    options = {"offsets": "kafka", "dual": dual}
    with high_level.member(**options) as member:
        until_read(high_level.written, member)
        member.apply("commit")
        member.leave()
    assert high_level.offset_in_log(7) == 5
    both = dict.fromkeys(range(PARTITIONS), 5)
    assert high_level.offsets() == (both if dual == "true" else {})
    high_level.write(PARTITIONS)
    with high_level.member(**options) as again:
        until_read(PARTITIONS, again)
        again.leave()
