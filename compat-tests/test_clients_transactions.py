"""Transactions by every client family: what is committed is read, what is aborted is not.

Issue 14, item 2. Each isolation level is read by the family that has written. A record without a
transaction ends each reading: nothing that should be invisible can hide behind it. Clients that
know transactions v2 are tried with it and without it (`transaction.version` 2 and 1).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from broker_admin import BrokerAdmin, unique_name
from client_builds import Family, skip_where_lacking
from clients import ClientPool, wait_until
from families import FAMILIES, JAVA_NEWEST, LIBRDKAFKA
from features import has_transaction_version, set_transaction_version
from records import Comparable, comparable, series
from transactors import OffsetHolder, Refused, Transactor, transactor

ISOLATIONS = ("read_committed", "read_uncommitted")
END = "end"
SHORT_TIMEOUT_MS = 3_000  # in which a record is written, and seen to be open


@dataclass(frozen=True)
class Kind:
    """A family under the version of transactions that the cluster has finalized."""

    family: Family
    version: int


TRANSACTIONAL = [family for family in FAMILIES.values() if "transactions" not in family.lacks]
KINDS = {f"{family.name}-tv2": Kind(family, 2) for family in TRANSACTIONAL}
KINDS |= {
    f"{family.name}-tv1": Kind(family, 1)
    for family in TRANSACTIONAL
    if "transactions v2" not in family.lacks
}
KINDS[f"{JAVA_NEWEST.name}-tv0"] = Kind(JAVA_NEWEST, 0)


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def family(request: pytest.FixtureRequest, broker_address: str) -> Family:
    """Every family, with the feature set to the version that its kind asks for.

    Apache Kafka 3.9.1 with ZooKeeper, against which these tests are proved, has no features.
    """
    kind: Kind = request.param
    if has_transaction_version(broker_address):
        set_transaction_version(broker_address, kind.version)
    return kind.family


@pytest.fixture
def topic(broker_admin: BrokerAdmin) -> str:
    return broker_admin.create_topic("transactions")


@dataclass(frozen=True)
class Reader:
    """Reads what a family sees of a topic, up to a record that is written for it."""

    clients: ClientPool
    family: Family

    def read(self, topic: str, isolation: str, count: int, partition: int = 0) -> list[Comparable]:
        """The content, which has to be `count` records and the last."""
        events = self.clients.run(
            self.family, "consume", topic=topic, partition=partition, count=count + 1,
            isolation=isolation, timeout_ms=20_000,
        )  # fmt: skip
        found = [comparable(event) for event in events]
        assert found[-1:] == series(END, 1), (isolation, [record[0] for record in found])
        return found[:-1]

    def check(self, topic: str, committed: list[Comparable], everything: list[Comparable]) -> None:
        """Both isolation levels see exactly this."""
        self.clients.run(LIBRDKAFKA, "produce", topic=topic, partition=0, count=1, prefix=END)
        for isolation, expected in zip(ISOLATIONS, (committed, everything), strict=True):
            assert self.read(topic, isolation, len(expected)) == expected, isolation


@pytest.fixture
def reader(clients: ClientPool, family: Family) -> Reader:
    return Reader(clients, family)


def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    family: Family, clients: ClientPool, topic: str, reader: Reader
) -> None:
    with transactor(clients, family, unique_name("both")) as producer:
        producer.init()
        for number in range(6):
            producer.begin()
            producer.send(topic, 3 + number, f"t{number}")
            if number % 3 == 1:
                producer.abort()
            else:
                producer.commit()
    contents = [series(f"t{number}", 3 + number) for number in range(6)]
    committed = [record for number in (0, 2, 3, 5) for record in contents[number]]
    reader.check(topic, committed, [record for each in contents for record in each])


def test_a_transaction_is_seen_in_all_its_partitions_or_in_none(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, reader: Reader
) -> None:
    first, second = (broker_admin.create_topic("parts") for _ in range(2))
    with transactor(clients, family, unique_name("parts")) as producer:
        producer.init()
        for number in range(4):
            producer.begin()
            producer.send(first, 2, f"t{number}")
            producer.send(second, 3, f"t{number}")
            if number % 2:
                producer.commit()
            else:
                producer.abort()
    for topic, count in ((first, 2), (second, 3)):
        contents = [series(f"t{number}", count) for number in range(4)]
        everything = [record for each in contents for record in each]
        reader.check(topic, contents[1] + contents[3], everything)


def test_two_producers_write_in_turn(
    family: Family, clients: ClientPool, topic: str, reader: Reader
) -> None:
    with (
        transactor(clients, family, unique_name("one")) as one,
        transactor(clients, family, unique_name("two")) as two,
    ):
        one.init()
        two.init()
        for number in range(3):
            one.begin()
            two.begin()
            one.send(topic, 2, f"one{number}")
            two.send(topic, 2, f"two{number}")
            one.send(topic, 1, f"late{number}")
            two.abort()
            one.commit()
    one_by_one = [
        (series(f"one{number}", 2), series(f"two{number}", 2), series(f"late{number}", 1))
        for number in range(3)
    ]
    committed = [record for ones, _, late in one_by_one for record in ones + late]
    everything = [record for parts in one_by_one for part in parts for record in part]
    reader.check(topic, committed, everything)


def test_a_second_producer_of_the_same_id_fences_the_first(
    family: Family, clients: ClientPool, topic: str, reader: Reader
) -> None:
    transactional_id = unique_name("fence")
    with transactor(clients, family, transactional_id) as second:
        with transactor(clients, family, transactional_id) as first:
            first.init()
            first.begin()
            first.send(topic, 4, "lost")
            second.init()
            with pytest.raises(Refused):
                _send_and_commit(first, topic, "zombie")
        second.begin()
        second.send(topic, 3, "kept")
        second.commit()
    reader.check(topic, series("kept", 3), series("lost", 4) + series("kept", 3))


def _send_and_commit(producer: Transactor, topic: str, prefix: str) -> None:
    producer.send(topic, 2, prefix)
    producer.commit()


def test_the_broker_aborts_what_has_timed_out_and_fences_its_producer(
    family: Family, clients: ClientPool, topic: str, reader: Reader, broker_admin: BrokerAdmin
) -> None:
    transactional_id = unique_name("time-out")
    with transactor(clients, family, transactional_id, SHORT_TIMEOUT_MS) as producer:
        producer.init()
        producer.begin()
        producer.send(topic, 5, "lost")
        assert broker_admin.last_stable_offset(topic) == 0
        wait_until(lambda: broker_admin.last_stable_offset(topic) == 6, "an abort by the broker")
        with pytest.raises(Refused):
            producer.commit()
    with transactor(clients, family, transactional_id) as next_producer:
        next_producer.init()
        next_producer.begin()
        next_producer.send(topic, 2, "kept")
        next_producer.commit()
    reader.check(topic, series("kept", 2), series("lost", 5) + series("kept", 2))


def test_what_a_killed_producer_left_open_is_aborted_by_the_next_of_its_id(
    family: Family, clients: ClientPool, topic: str, reader: Reader
) -> None:
    transactional_id = unique_name("killed")
    killed = clients.take(family)
    options = {"bootstrap": clients.bootstrap, "transactional_id": transactional_id}
    producer = Transactor(killed, options)
    producer.init()
    producer.begin()
    producer.send(topic, 4, "lost")
    killed.kill()
    with transactor(clients, family, transactional_id) as next_producer:
        next_producer.init()
        next_producer.begin()
        next_producer.send(topic, 3, "kept")
        next_producer.commit()
    reader.check(topic, series("kept", 3), series("lost", 4) + series("kept", 3))


def test_a_transaction_with_a_record_that_is_refused_is_aborted_and_the_producer_goes_on(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, reader: Reader
) -> None:
    skip_where_lacking(family, "refused record")
    topic = broker_admin.create_topic("small", config={"max.message.bytes": "400"})
    with transactor(clients, family, unique_name("refused")) as producer:
        producer.init()
        producer.begin()
        producer.send(topic, 1, "lost")
        with pytest.raises(Refused):
            producer.send(topic, 14, "too-large")
        producer.abort()
        for number in range(2):
            producer.begin()
            producer.send(topic, 1, f"kept{number}")
            producer.commit()
    clients.run(LIBRDKAFKA, "produce", topic=topic, partition=0, count=1, prefix=END)
    assert reader.read(topic, "read_committed", 2) == series("kept0", 1) + series("kept1", 1)


@pytest.mark.parametrize("commit", [True, False], ids=["committed", "aborted"])
def test_a_member_waits_for_offsets_that_a_transaction_still_holds(
    commit: bool, family: Family, clients: ClientPool, broker_admin: BrokerAdmin, topic: str
) -> None:
    """UNSTABLE_OFFSET_COMMIT: it begins behind them or at the start, not before it knows."""
    skip_where_lacking(family, "stable offsets")
    target, group = broker_admin.create_topic("target"), unique_name("unstable")
    clients.run(LIBRDKAFKA, "produce", topic=topic, partition=0, count=6)
    holder = OffsetHolder(clients.bootstrap, group)
    holder.send(topic, 4)
    with ThreadPoolExecutor(1) as threads:
        count = 2 if commit else 6
        transformed = threads.submit(
            clients.run, family, "transform", transactional_id=group, topic=topic, to=target,
            group=group, count=count, batch=2,
        )  # fmt: skip
        wait_until(lambda: holder.is_awaited(), "a member of the group")
        assert broker_admin.end_offset(target) == 0
        holder.end(commit=commit)
        events = transformed.result()
    assert _positions_of(events, topic) == 6
    assert broker_admin.committed(group) == {(topic, 0): 6}


def test_records_are_transformed_exactly_once_with_their_offsets(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin, topic: str, reader: Reader
) -> None:
    target, group = broker_admin.create_topic("target"), unique_name("transform")
    _write_in_transactions(clients, topic)
    options = {"topic": topic, "to": target, "group": group, "batch": 4}
    first = clients.run(family, "transform", transactional_id=f"{group}-1", count=8, **options)
    done = sum(len(event["offsets"]) > 0 for event in first if event["event"] == "committed")
    assert done >= 2
    transformed = _positions_of(first, topic)
    assert broker_admin.committed(group) == {(topic, 0): transformed}
    second = clients.run(
        family, "transform", transactional_id=f"{group}-2", count=20 - _read_before(transformed),
        **options,
    )  # fmt: skip
    assert broker_admin.committed(group) == {(topic, 0): _positions_of(second, topic)}
    aborted = [event["count"] for event in first + second if event["event"] == "aborted"]
    assert len(aborted) == 2
    committed = series("a", 12) + series("c", 8)
    before = committed[: _read_before(transformed)]
    after = committed[len(before) :]
    everything = before[: aborted[0]] + before + after[: aborted[1]] + after
    reader.check(target, committed, everything)


def _write_in_transactions(clients: ClientPool, topic: str) -> None:
    """12 records that are committed, 5 that are aborted, 8 that are committed."""
    with transactor(clients, JAVA_NEWEST, unique_name("source")) as producer:
        producer.init()
        for prefix, count in (("a", 12), ("b", 5), ("c", 8)):
            producer.begin()
            producer.send(topic, count, prefix)
            if prefix == "b":
                producer.abort()
            else:
                producer.commit()


def _positions_of(events: list[dict[str, object]], topic: str) -> int:
    """The last offset that was committed for the only partition."""
    committed = [event["offsets"] for event in events if event["event"] == "committed"]
    ((name, partition, offset),) = committed[-1]
    assert (name, partition) == (topic, 0)
    return int(offset)


def _read_before(offset: int) -> int:
    """How many of the committed records `_write_in_transactions` has put before an offset."""
    places = [*range(12), *range(13 + 6, 13 + 6 + 8)]
    return sum(place < offset for place in places)
