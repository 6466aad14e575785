"""Produce within transactions: what is part of one, what is not, and what each version is told."""

import time
from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.produce import ProduceRequest
from tests.server.admin import create, new_topic
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    LATEST,
    data_of,
    fetch,
    fetched,
    list_offset,
    make_batch,
    produce,
    produce_request,
)
from tests.server.transaction_requests import V1, Id, Transactional, producer_of
from tests.server.waiting import wait_until

OLD, ABORTABLE, ADDING = 9, 11, 12


@pytest.fixture
def topic(client: RawClient) -> str:
    name = unique("orders")
    create(client, new_topic(name, 2))
    return name


def transactional_batch(value: bytes, who: Id, sequence: int = 0) -> bytearray:
    return build_batch(
        [Record(0, time.time_ns() // 1_000_000, None, value)],
        producer_id=who.producer_id,
        producer_epoch=who.epoch,
        base_sequence=sequence,
        is_transactional=True,
    )


def write(
    client: RawClient,
    producer: Transactional,
    topic: str,
    value: bytes = b"v",
    *,
    sequence: int = 0,
    version: int = ADDING,
    by: Id | None = None,
    partition: int = 0,
) -> int:
    """Produce one record in the producer's transaction; the error code."""
    request = produce_request(
        topic, transactional_batch(value, by or producer.id, sequence), partition
    )
    request.transactional_id = producer.name
    return int(answer_of(client, request, version))


def answer_of(client: RawClient, request: ProduceRequest, version: int) -> int:
    (answer,) = client.call(request, version).responses[0].partition_responses
    return int(answer.error_code)


def end_of(client: RawClient, topic: str, isolation_level: int = 0) -> int:
    """The end of the first partition, as readers of an isolation level are told."""
    return list_offset(client, topic, LATEST, isolation_level=isolation_level).offset


def readable(client: RawClient, topic: str, isolation_level: int) -> list[bytes | None]:
    """The values that a reader of the first partition is given, who drops the aborted ones."""
    answer = fetch(client, (topic, 0, 0, 1 << 20), isolation_level=isolation_level)
    partition = fetched(answer)[topic, 0]
    begins = {a.first_offset: a.producer_id for a in partition.aborted_transactions or []}
    data, found, aborted = data_of(partition), [], set()
    for header in walk(data):
        aborted |= {who for first, who in begins.items() if first <= header.base_offset}
        if header.is_control:
            aborted.discard(header.producer_id)
            begins = {o: who for o, who in begins.items() if o > header.base_offset}
        elif header.producer_id not in aborted:
            found += [record.value for record in decode_batch(data, header)]
    return found


def test_from_v12_writing_adds_the_partition(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    assert write(client, producer, topic) == ErrorCode.NONE
    assert write(client, producer, topic, sequence=1) == ErrorCode.NONE
    (added,) = producer.described.topics
    assert (producer.state, added.topic, added.partitions) == ("Ongoing", topic, [0])
    assert end_of(client, topic, 1) == 0
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: end_of(client, topic, 1) == 3)


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (3, ErrorCode.INVALID_TXN_STATE),
        (OLD, ErrorCode.INVALID_TXN_STATE),
        (ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_before_v12_a_partition_that_was_not_added_is_refused(
    client: RawClient, topic: str, version: int, code: ErrorCode
) -> None:
    producer = producer_of(client, V1)
    producer.add((topic, 1))
    assert write(client, producer, topic, version=version) == code
    assert end_of(client, topic) == 0
    producer.add((topic, 0))
    assert write(client, producer, topic, version=version) == ErrorCode.NONE
    assert producer.end(commit=False) == ErrorCode.NONE


def test_a_batch_needs_a_transactional_id(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    request = produce_request(topic, transactional_batch(b"v", producer.id))
    refused = answer_of(client, request, ADDING)
    assert refused == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert end_of(client, topic) == 0


def test_a_late_batch_of_an_ended_transaction_is_fenced(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    before = producer.id
    assert write(client, producer, topic) == ErrorCode.NONE
    assert producer.end() == ErrorCode.NONE
    assert producer.id.epoch == before.epoch + 1
    wait_until(lambda: producer.state == "CompleteCommit")
    late = write(client, producer, topic, sequence=1, by=before)
    assert late == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end_of(client, topic) == 2


def test_a_late_batch_of_version_1_begins_nothing(client: RawClient, topic: str) -> None:
    producer = producer_of(client, V1)
    producer.add((topic, 0))
    assert write(client, producer, topic, version=ABORTABLE) == ErrorCode.NONE
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: producer.state == "CompleteCommit")
    late = write(client, producer, topic, sequence=1, version=ABORTABLE)
    assert late == ErrorCode.TRANSACTION_ABORTABLE
    assert end_of(client, topic) == end_of(client, topic, 1)


def test_a_zombie_is_fenced_before_it_writes(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    zombie = producer.id
    producer.begin()
    assert producer.id != zombie
    assert write(client, producer, topic, by=zombie) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end_of(client, topic) == 0


def test_readers_of_committed_data_see_no_aborted_record(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    for number, is_commit in enumerate([True, False, True]):
        assert write(client, producer, topic, b"%d" % number) == ErrorCode.NONE
        assert producer.end(commit=is_commit) == ErrorCode.NONE
        wait_until(lambda: producer.state.startswith("Complete"))
    assert readable(client, topic, 1) == [b"0", b"2"]
    assert readable(client, topic, 0) == [b"0", b"1", b"2"]


def test_a_plain_record_waits_behind_an_open_transaction(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    assert write(client, producer, topic) == ErrorCode.NONE
    assert produce(client, topic, make_batch(b"plain")).error_code == 0
    assert readable(client, topic, 1) == []
    assert producer.end(commit=False) == ErrorCode.NONE
    wait_until(lambda: readable(client, topic, 1) == [b"plain"])


def test_the_next_transaction_need_not_wait_for_the_last(client: RawClient, topic: str) -> None:
    """Clients go on at once: while the markers are written the broker asks again for them."""
    producer = producer_of(client)
    for number in range(30):
        assert write(client, producer, topic, b"%d" % number) == ErrorCode.NONE
        assert producer.end() == ErrorCode.NONE
    wait_until(lambda: len(readable(client, topic, 1)) == 30)


def test_a_duplicate_within_a_transaction_is_one_record(client: RawClient, topic: str) -> None:
    producer = producer_of(client)
    for _ in range(2):
        assert write(client, producer, topic, b"once") == ErrorCode.NONE
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: readable(client, topic, 1) == [b"once"])


@pytest.fixture(scope="module")
def unverified() -> Iterator[Broker]:
    with Broker(settings={"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


def test_verification_can_be_turned_off(unverified: Broker) -> None:
    with RawClient(unverified.port) as client:
        name = unique("orders")
        create(client, new_topic(name, 1))
        producer = producer_of(client, V1)
        assert write(client, producer, name, version=ABORTABLE) == ErrorCode.NONE


def test_unrelated_batches_of_a_request_are_written(client: RawClient, topic: str) -> None:
    producer = producer_of(client, V1)
    producer.add((topic, 0))
    request = produce_request(topic, transactional_batch(b"v", producer.id))
    other = produce_request(topic, transactional_batch(b"v", producer.id), partition=1)
    request.topics[0].partitions += other.topics[0].partitions
    request.transactional_id = producer.name
    answers = client.call(request, ABORTABLE).responses[0].partition_responses
    assert [each.error_code for each in answers] == [0, ErrorCode.TRANSACTION_ABORTABLE]


def test_batches_of_two_producers_are_refused(client: RawClient, topic: str) -> None:
    one, two = producer_of(client), producer_of(client)
    request = produce_request(topic, transactional_batch(b"v", one.id))
    other = produce_request(topic, transactional_batch(b"v", two.id), partition=1)
    request.topics[0].partitions += other.topics[0].partitions
    request.transactional_id = one.name
    answers = client.call(request, ADDING).responses[0].partition_responses
    assert {each.error_code for each in answers} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert (end_of(client, topic), one.state) == (0, "Empty")
