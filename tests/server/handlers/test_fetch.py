"""Fetch: whole batches, limits, long polls, sessions, errors of one partition among others."""

import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest

from barnabas.server.replication.partition import Partition
from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.records import decode_all
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.uuids import Uuid
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import batches_of, data_of, fetch, fetched, make_batch, produce, read
from tests.server.waiting import wait_until, wait_until_watched

LONG_MS = 60_000
SOON_S = 30.0  # long before a wait of LONG_MS is over


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(unique("t"), 2, {"retention.ms": -1})


@pytest.mark.parametrize("version", range(13))
def test_every_version_reads(client: RawClient, topic: str, version: int) -> None:
    sent = make_batch(b"a", b"b")
    produce(client, topic, sent)
    partition = fetched(fetch(client, (topic, 0, 0, 1 << 20), version=version))[topic, 0]
    assert (partition.error_code, partition.high_watermark) == (0, 2)
    if version >= 4:
        assert data_of(partition)[16:] == bytes(sent[16:])
        assert partition.last_stable_offset == 2
        assert partition.aborted_transactions is None
    else:
        assert data_of(partition)[16] == (0 if version < 2 else 1)  # the older formats


@pytest.mark.parametrize("version", range(5))
def test_a_topic_may_refuse_conversion_for_old_clients(
    client: RawClient, broker: Broker, version: int
) -> None:
    settings = {"retention.ms": -1, "message.downconversion.enable": False}
    topic = broker.create_topic(unique("t"), 1, settings)
    empty = fetched(fetch(client, (topic, 0, 0, 1 << 20), version=version))[topic, 0]
    assert (empty.error_code, data_of(empty)) == (0, b"")
    produce(client, topic, make_batch(b"a", b"b"))
    partition = fetched(fetch(client, (topic, 0, 0, 1 << 20), version=version))[topic, 0]
    refused = version < 4
    assert partition.error_code == (35 if refused else 0)
    assert (data_of(partition) == b"") == refused


def test_topics_by_id(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"a"))
    (known,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12).topics
    for version in range(13, 19):
        for topic_id, code in ((known.topic_id, 0), (Uuid(b"\x07" * 16), 100)):
            wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=1,
                topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])],
            )
            (answer,) = client.call(request, version).responses
            assert (answer.topic_id, answer.partitions[0].error_code) == (topic_id, code)


@pytest.fixture(scope="module")
def limits_topic(broker: Broker) -> tuple[str, int]:
    """A topic whose partition 0 is empty, three batches in the others; and a batch's size."""
    topic = broker.create_topic(unique("limits"), 4, {"retention.ms": -1})
    sent = make_batch(b"x" * 3000)
    with RawClient(broker.port) as client:
        for partition in (1, 2, 3):
            for _ in range(3):
                produce(client, topic, sent, partition=partition)
    return topic, len(sent)


# In batches: nothing, less than one, one, one and a piece, all of two partitions and a piece.
LIMITS = (0.0, 0.1, 1.0, 1.7, 3.0, 6.5, 100.0)


@pytest.mark.parametrize("partition_limit", LIMITS)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("version", [3, 4, 7, 11, 12])
def test_no_answer_is_a_piece_of_its_first_batch(
    client: RawClient,
    limits_topic: tuple[str, int],
    version: int,
    limit: float,
    partition_limit: float,
) -> None:
    topic, batch_bytes = limits_topic
    wanted = [(topic, index, 0, int(partition_limit * batch_bytes)) for index in range(4)]
    most = int(limit * batch_bytes)
    answers = fetched(fetch(client, *wanted, max_bytes=most, version=version))
    held = [data_of(answers[topic, index]) for index in range(4)]
    assert held[0] == b""
    assert batches_of(answers[topic, 1])  # the first with data gives one batch at least
    left = most
    for index in (1, 2, 3):
        allowed = min(left, int(partition_limit * batch_bytes))
        is_first = index == 1
        if version > 3:  # there the log's bytes are sent as they are
            expected = allowed if allowed >= batch_bytes else batch_bytes * is_first
            assert len(held[index]) == min(expected, 3 * batch_bytes)
        assert held[index] == b"" or batches_of(answers[topic, index])
        assert (answers[topic, index].error_code, answers[topic, index].high_watermark) == (0, 3)
        left = max(0, left - len(held[index]))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_limits_are_hard(
    client: RawClient, limits_topic: tuple[str, int], version: int
) -> None:
    topic, batch_bytes = limits_topic
    wanted = [(topic, index, 0, batch_bytes // 2) for index in (1, 2)]
    answers = fetched(fetch(client, *wanted, version=version))
    for index in (1, 2):
        assert len(data_of(answers[topic, index])) == batch_bytes // 2
        assert batches_of(answers[topic, index]) == []


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_the_answers_own_limit_cuts_no_first_batch(version: int) -> None:
    with Broker({"fetch.max.bytes": 4096, "log.retention.ms": -1}) as broker:
        broker.create_topic("t", 3)
        with RawClient(broker.port) as client:
            for partition in range(3):
                produce(client, "t", make_batch(b"x" * 3000), partition=partition)
            wanted = [("t", index, 0, 1 << 20) for index in (0, 1, 2)]
            answers = fetched(fetch(client, *wanted, version=version))
            assert [len(batches_of(answers["t", index])) for index in range(3)] == [1, 0, 0]
            assert data_of(answers["t", 1]) == data_of(answers["t", 2]) == b""


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_a_partition_that_had_no_room_comes_first_the_next_time(
    client: RawClient, limits_topic: tuple[str, int], isolation_level: int
) -> None:
    topic, batch_bytes = limits_topic
    limits = {"max_bytes": batch_bytes // 2, "isolation_level": isolation_level}
    wanted = [(topic, index, 0, 1 << 20) for index in (1, 2, 3)]
    opened = fetch(client, *wanted, session=(0, 0), **limits)
    turns = [[key for key, each in fetched(opened).items() if data_of(each)]]
    for epoch in (1, 2):
        answer = fetch(client, session=(opened.session_id, epoch), **limits)
        turns.append([key for key, each in fetched(answer).items() if data_of(each)])
    assert turns == [[(topic, 1)], [(topic, 2)], [(topic, 3)]]


def test_partitions_are_served_in_the_order_asked(client: RawClient, topic: str) -> None:
    for partition in (0, 1):
        produce(client, topic, make_batch(b"x" * 50_000), partition=partition)
    turned = fetched(fetch(client, (topic, 1, 0, 100), (topic, 0, 0, 100), max_bytes=100))
    assert [len(batches_of(turned[topic, index])) for index in (0, 1)] == [0, 1]


def test_the_brokers_own_limit() -> None:
    with Broker({"fetch.max.bytes": 1024, "log.retention.ms": -1}) as broker:
        broker.create_topic("t")
        with RawClient(broker.port) as client:
            for _ in range(4):
                produce(client, "t", make_batch(b"x" * 600))
            assert len(batches_of(read(client, "t"))) == 1


def test_nothing_is_empty_and_not_null(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"x"))
    for version in (0, 4, 7, 11, 12):
        answers = fetched(
            fetch(
                client, (topic, 0, 1, 1000), (topic, 1, 99, 1000), ("none", 0, 0, 1000),
                version=version,
            )
        )  # fmt: skip
        assert {data_of(answer) for answer in answers.values()} == {b""}
        end = answers[topic, 0]
        assert (end.error_code, end.high_watermark) == (0, 1)
        assert version < 5 or (end.last_stable_offset, end.log_start_offset) == (1, 0)


def test_from_the_middle_of_a_batch(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(*[b"%d" % n for n in range(10)]))
    produce(client, topic, make_batch(b"z"))
    first, second = batches_of(read(client, topic, 7))
    assert (first.base_offset, first.last_offset, second.base_offset) == (0, 9, 10)
    (only,) = batches_of(read(client, topic, 10))
    assert (only.base_offset, only.last_offset) == (10, 10)


# Waiting.


def test_a_fetch_waits_as_long_as_it_may(client: RawClient, topic: str) -> None:
    began = time.monotonic()
    fetch(client, (topic, 0, 0, 1000), max_wait_ms=300)
    assert 0.28 <= time.monotonic() - began < SOON_S


def test_no_bytes_wanted_is_no_wait(client: RawClient, topic: str) -> None:
    began = time.monotonic()
    fetch(client, (topic, 0, 0, 1000), max_wait_ms=LONG_MS, min_bytes=0)
    assert time.monotonic() - began < SOON_S


def test_more_bytes_wanted_than_allowed_is_no_wait(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"x" * 100))
    began = time.monotonic()
    answer = fetch(
        client, (topic, 0, 0, 1 << 20), max_wait_ms=LONG_MS, min_bytes=1 << 30, max_bytes=50
    )
    assert time.monotonic() - began < SOON_S
    assert data_of(fetched(answer)[topic, 0])


def test_new_records_wake_a_fetch_when_they_are_enough(
    broker: Broker, client: RawClient, topic: str
) -> None:
    answers = []

    def wait() -> None:
        with RawClient(broker.port) as waiting:
            answers.append(
                fetch(waiting, (topic, 0, 0, 1 << 20), max_wait_ms=LONG_MS, min_bytes=300)
            )

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until_watched(broker, topic)
    produce(client, topic, make_batch(b"x" * 50))
    waits = broker.server.fetches
    assert broker.call(lambda: waits.is_watched((topic, 0)))
    produce(client, topic, make_batch(b"y" * 200))
    thread.join(SOON_S)
    (answer,) = answers
    assert len(batches_of(fetched(answer)[topic, 0])) == 2


def test_one_bad_partition_neither_delays_nor_spoils_the_others(
    client: RawClient, topic: str
) -> None:
    produce(client, topic, make_batch(b"x"))
    began = time.monotonic()
    answer = fetch(
        client, (topic, 0, 0, 1000), (topic, 1, 99, 1000), ("none", 0, 0, 1000),
        (topic, 7, 0, 1000), max_wait_ms=LONG_MS, min_bytes=1 << 20,
    )  # fmt: skip
    assert time.monotonic() - began < SOON_S
    answers = fetched(answer)
    assert {key: each.error_code for key, each in answers.items()} == {
        (topic, 0): 0,
        (topic, 1): ErrorCode.OFFSET_OUT_OF_RANGE,
        ("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (topic, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert data_of(answers[topic, 0])


@pytest.mark.parametrize(("offset", "code"), [(3, 0), (4, 1), (-1, 1), (2**62, 1)])
def test_offsets_past_the_end_are_refused_at_once(
    client: RawClient, topic: str, offset: int, code: int
) -> None:
    produce(client, topic, make_batch(b"a", b"b", b"c"))
    wait_ms = 0 if code == 0 else LONG_MS
    answer = fetch(client, (topic, 0, offset, 1000), max_wait_ms=wait_ms)
    assert fetched(answer)[topic, 0].error_code == code


# Sessions (KIP-227).


def test_a_session_that_nobody_opened(client: RawClient) -> None:
    answer = fetch(client, session=(12345, 7))
    assert (answer.error_code, answer.session_id, answer.responses) == (
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [],
    )  # fmt: skip


def test_no_session_is_no_session(client: RawClient, topic: str) -> None:
    assert fetch(client, (topic, 0, 0, 1000), session=(0, -1)).session_id == 0


def test_the_life_of_a_session(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"x"))
    opened = fetch(client, (topic, 0, 0, 1000), (topic, 1, 0, 1000), session=(0, 0))
    session_id = opened.session_id
    assert session_id != 0
    assert set(fetched(opened)) == {(topic, 0), (topic, 1)}
    wrong = fetch(client, session=(session_id, 5))
    assert (wrong.error_code, wrong.responses) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])
    # Partition 0 is read on from 1, where there is nothing; nothing has changed in 1.
    following = fetch(client, (topic, 0, 1, 1000), session=(session_id, 1))
    assert (following.error_code, following.session_id, following.responses) == (0, session_id, [])
    produce(client, topic, make_batch(b"y"), partition=1)
    changed = fetch(client, session=(session_id, 2))
    assert set(fetched(changed)) == {(topic, 1)}
    closed = fetch(client, (topic, 0, 0, 1000), session=(session_id, -1))
    assert (closed.error_code, closed.session_id) == (0, 0)
    assert data_of(fetched(closed)[topic, 0])
    gone = fetch(client, session=(session_id, 3))
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


# Leader epochs (KIP-320).


@pytest.mark.parametrize(
    ("current", "code"),
    [(-1, 0), (1, 0), (0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_the_clients_leader_epoch_is_checked(current: int, code: int) -> None:
    with Broker() as broker:
        broker.create_topic("t")
        broker.restart()
        with RawClient(broker.port) as client:
            wanted = FetchPartition(
                partition=0,
                fetch_offset=0,
                current_leader_epoch=current,
                partition_max_bytes=1000,
            )
            request = FetchRequest(
                max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[wanted])]
            )
            (answer,) = client.call(request, 11).responses[0].partitions
            assert answer.error_code == code


@pytest.mark.parametrize("version", range(4))
def test_what_is_converted_for_one_answer_is_bounded(
    broker: Broker, client: RawClient, version: int
) -> None:
    """An old consumer reads 4 MB of small records: a megabyte at a time, and misses nothing."""
    topic = broker.create_topic(unique("converted"))
    for _ in range(8):
        produce(client, topic, make_batch(*[b"v" * 100] * 4_000))
    sizes, offsets = [], list[int]()
    while len(offsets) < 32_000:
        wanted = (topic, 0, len(offsets), 1 << 24)
        answer = fetched(fetch(client, wanted, max_bytes=1 << 24, version=version))[topic, 0]
        sizes.append(len(data_of(answer)))
        offsets += [record.offset for record in decode_all(data_of(answer))]
    assert offsets == list(range(32_000))
    assert max(sizes) < 2 << 20


class _Counting(dict[tuple[str, int], Partition]):
    """The broker's partitions, and how often one was looked up."""

    looked_up = 0

    def get(self, key: tuple[str, int], default: Any = None) -> Any:
        self.looked_up += 1
        return super().get(key, default)


def test_an_event_asks_only_for_the_partition_that_had_it() -> None:
    """Five parked fetches of 300 partitions: a produce to one of these looks at that one only."""
    with Broker() as broker, ExitStack() as stack:
        topic = broker.create_topic("wide", 300)
        waiting = [stack.enter_context(RawClient(broker.port)) for _ in range(5)]
        wanted = [FetchPartition(partition=n, partition_max_bytes=1 << 20) for n in range(300)]
        request = FetchRequest(
            max_wait_ms=60_000,
            min_bytes=1 << 20,
            topics=[FetchTopic(topic=topic, partitions=wanted)],
        )
        for each in waiting:
            each.send(request, 11)
        wait_until(lambda: broker.call(lambda: len(broker.server.fetches)) == 5)
        client = stack.enter_context(RawClient(broker.port))
        replicas = broker.server.replicas
        counting = _Counting(replicas._partitions)
        broker.call(lambda: setattr(replicas, "_partitions", counting))
        produce(client, topic, make_batch(b"x" * 500_000), partition=7)
        assert counting.looked_up <= 10
        # What the events add up to wakes them: each partition counts with what it has by now.
        produce(client, topic, make_batch(b"x" * 500_000), partition=8)
        assert broker.call(lambda: len(broker.server.fetches)) == 5
        produce(client, topic, make_batch(b"x" * 100_000), partition=9)
        for each in waiting:
            found = fetched(each.receive())
            assert [n for (_, n), part in found.items() if len(data_of(part))] == [7, 8, 9]
