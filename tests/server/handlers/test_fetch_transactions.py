"""Fetch and transactions: the same batches for every reader, only the end differs.

Cases H1 and L1 of the public bug reports: the broker filters nothing and lists the aborted
transactions for those who ask; a marker is a batch that readers are given, so that they get on.
"""

import time

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record
from barnabas.wire.messages.fetch import PartitionData
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    LATEST,
    batches_of,
    data_of,
    fetch,
    fetched,
    list_offset,
    make_batch,
    produce,
    produce_request,
)
from tests.server.transaction_requests import V1, Transactional, find_coordinator
from tests.server.waiting import wait_until

UNCOMMITTED, COMMITTED = 0, 1
VERSION = 11


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(unique("orders"), 1, {"retention.ms": -1})


@pytest.fixture
def producer(client: RawClient) -> Transactional:
    made = Transactional(client, unique("mover"), V1)
    find_coordinator(client, made.name)
    return made.begin()


def now_ms() -> int:
    """The markers' time: records of another age would lie in another segment."""
    return time.time_ns() // 1_000_000


def write_plain(client: RawClient, topic: str, value: bytes) -> None:
    assert produce(client, topic, make_batch(value, timestamps=[now_ms()])).error_code == 0


class Writer:
    """Writes transactions of a producer of version 1, which keeps its epoch and its sequences."""

    def __init__(self, client: RawClient, producer: Transactional, topic: str) -> None:
        self._client, self._producer, self._topic = client, producer, topic
        self._sequence = 0

    def write(self, *values: bytes) -> None:
        """One batch of the transaction that is open, or of a new one."""
        who = self._producer.id
        assert self._producer.add((self._topic, 0)) == [0]
        batch = build_batch(
            [Record(index, now_ms(), None, value) for index, value in enumerate(values)],
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            base_sequence=self._sequence,
            is_transactional=True,
        )
        request = produce_request(self._topic, batch)
        request.transactional_id = self._producer.name
        (answer,) = self._client.call(request, VERSION).responses[0].partition_responses
        assert answer.error_code == 0
        self._sequence += len(values)

    def end(self, *, commit: bool) -> None:
        """Returns when the marker is in the log."""
        before = end_of(self._client, self._topic, UNCOMMITTED)
        assert self._producer.end(commit=commit) == 0
        wait_until(lambda: end_of(self._client, self._topic, COMMITTED) == before + 1)
        wait_until(lambda: self._producer.state.startswith("Complete"))


@pytest.fixture
def writer(client: RawClient, producer: Transactional, topic: str) -> Writer:
    return Writer(client, producer, topic)


def end_of(client: RawClient, topic: str, isolation_level: int) -> int:
    return list_offset(client, topic, LATEST, isolation_level=isolation_level).offset


def read(client: RawClient, topic: str, isolation_level: int, offset: int = 0) -> PartitionData:
    answer = fetch(client, (topic, 0, offset, 1 << 20), isolation_level=isolation_level)
    return fetched(answer)[topic, 0]


def aborted(partition: PartitionData) -> list[tuple[int, int]] | None:
    listed = partition.aborted_transactions
    return None if listed is None else [(each.producer_id, each.first_offset) for each in listed]


def test_every_reader_gets_the_same_batches_and_some_the_list_of_the_aborted(
    client: RawClient, producer: Transactional, topic: str, writer: Writer
) -> None:
    writer.write(b"a", b"b")
    writer.end(commit=False)
    uncommitted = read(client, topic, UNCOMMITTED)
    data = data_of(uncommitted)
    committed = read(client, topic, COMMITTED)
    assert aborted(uncommitted) is None
    assert aborted(committed) == [(producer.id.producer_id, 0)]
    assert data == data_of(committed)
    headers = list(walk(data))
    assert [(h.base_offset, h.is_transactional, h.is_control) for h in headers] == [
        (0, True, False),
        (2, True, True),
    ]


def test_nothing_aborted_is_an_empty_list_and_not_null(
    client: RawClient, topic: str, writer: Writer
) -> None:
    writer.write(b"a")
    writer.end(commit=True)
    assert aborted(read(client, topic, COMMITTED)) == []
    write_plain(client, topic, b"plain")
    assert aborted(read(client, topic, COMMITTED, 2)) == []
    assert batches_of(read(client, topic, COMMITTED, 2))


def test_an_aborted_transaction_is_listed_where_its_records_are_read_and_not_behind_them(
    client: RawClient, producer: Transactional, topic: str, writer: Writer
) -> None:
    writer.write(b"a")
    writer.write(b"b")
    writer.end(commit=False)
    writer.write(b"c")
    writer.end(commit=True)
    here = [(producer.id.producer_id, 0)]
    assert [aborted(read(client, topic, COMMITTED, offset)) for offset in range(5)] == [
        here, here, here, [], [],
    ]  # fmt: skip


def test_an_open_transaction_ends_what_readers_of_committed_records_get(
    client: RawClient, topic: str, writer: Writer
) -> None:
    write_plain(client, topic, b"plain")
    writer.write(b"a")
    write_plain(client, topic, b"behind")
    committed = read(client, topic, COMMITTED)
    assert [h.base_offset for h in walk(data_of(committed))] == [0]
    assert (committed.last_stable_offset, committed.high_watermark) == (1, 3)
    everything = read(client, topic, UNCOMMITTED)
    assert [h.base_offset for h in walk(data_of(everything))] == [0, 1, 2]
    assert everything.last_stable_offset == 1
    writer.end(commit=True)
    assert [h.base_offset for h in walk(data_of(read(client, topic, COMMITTED)))] == [0, 1, 2, 3]


def test_a_reader_gets_on_from_every_offset_though_most_batches_are_markers(
    client: RawClient, topic: str, writer: Writer
) -> None:
    """Case L1: Spark seeks to any offset between two ends and has to see its position move."""
    for commit in (False, True, False):
        writer.write(b"%d" % commit)
        writer.end(commit=commit)
    assert end_of(client, topic, COMMITTED) == 6
    for offset in range(6):
        first, *_ = walk(data_of(read(client, topic, COMMITTED, offset)))
        assert first.base_offset == offset
