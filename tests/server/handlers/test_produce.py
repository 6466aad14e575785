"""Produce: what is appended, what is refused, what an idempotent producer may send."""

import struct
import time
from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.compression import Codec, compress
from barnabas.storage.batch.header import TRANSACTIONAL
from barnabas.storage.batch.records import decode_all
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.uuids import Uuid
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    EARLIEST,
    LATEST,
    NOW_MS,
    Producer,
    batches_of,
    data_of,
    fetch,
    fetched,
    list_offset,
    make_batch,
    produce,
    read,
    resealed,
)
from tests.server.transaction_requests import V1, Transactional
from tests.server.waiting import wait_until

FOREVER = {"retention.ms": -1}
RECORD_COUNT, LAST_OFFSET_DELTA, LEADER_EPOCH = 57, 23, 12
HEADER_BYTES = 61


@pytest.fixture(scope="module", params=["fast", "full"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """One that trusts records, and one that reads each of them."""
    with Broker({"produce.validation": request.param, "log.retention.ms": -1}) as made:
        yield made


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(unique("t"))


def end_of(client: RawClient, topic: str) -> int:
    return list_offset(client, topic, LATEST).offset


def by_id(topic_id: Uuid, data: bytes) -> ProduceRequest:
    return ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topics=[
            TopicProduceData(
                topic_id=topic_id, partitions=[PartitionProduceData(index=0, records=data)]
            )
        ],
    )


@pytest.mark.parametrize("version", range(3, 13))
@pytest.mark.parametrize("acks", [1, -1])
def test_every_version_since_format_2(
    client: RawClient, topic: str, version: int, acks: int
) -> None:
    for offset in (0, 2):
        answer = produce(client, topic, make_batch(b"a", b"b"), acks=acks, version=version)
        assert (answer.error_code, answer.base_offset) == (0, offset)
        assert answer.log_append_time_ms == -1
        assert version < 5 or answer.log_start_offset == 0
        assert answer.error_message is None and answer.record_errors == []


def test_topics_by_id(client: RawClient, topic: str) -> None:
    (known,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12).topics
    for topic_id, code in ((known.topic_id, 0), (Uuid(b"\x07" * 16), ErrorCode.UNKNOWN_TOPIC_ID)):
        (answer,) = client.call(by_id(topic_id, bytes(make_batch(b"a"))), 13).responses
        assert answer.topic_id == topic_id
        assert answer.partition_responses[0].error_code == code


def test_a_batch_is_stored_as_it_came_but_for_offset_and_epoch(
    client: RawClient, topic: str
) -> None:
    sent = make_batch(b"a", b"b", keys=[b"k", None])
    produce(client, topic, sent)
    assert data_of(read(client, topic))[16:] == bytes(sent[16:])


@pytest.mark.parametrize("leader_epoch", [-1, 0, 77, -(2**31)])
def test_the_senders_leader_epoch_is_not_looked_at(
    client: RawClient, topic: str, leader_epoch: int
) -> None:
    data = make_batch(b"x")
    struct.pack_into(">i", data, LEADER_EPOCH, leader_epoch)
    assert produce(client, topic, data).error_code == 0
    (stored,) = batches_of(read(client, topic))
    assert stored.partition_leader_epoch == 0


@pytest.mark.parametrize("codec", Codec)
def test_codecs_pass_through(client: RawClient, topic: str, codec: Codec) -> None:
    values = [b"v" * 300] * 20
    sent = make_batch(*values, codec=codec)
    assert produce(client, topic, sent).error_code == 0
    partition = read(client, topic)
    assert data_of(partition)[16:] == bytes(sent[16:])
    (stored,) = batches_of(partition)
    assert stored.codec == codec
    assert [record.value for record in decode_all(data_of(partition))] == values


def test_zstd_is_for_newer_clients(client: RawClient, topic: str) -> None:
    data = make_batch(b"x" * 100, codec=Codec.ZSTD)
    code = produce(client, topic, data, version=6).error_code
    assert code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(client, topic, data, version=7).error_code == 0


def test_a_wrong_checksum(client: RawClient, topic: str) -> None:
    data = make_batch(b"x")
    data[-1] ^= 1
    answer = produce(client, topic, data)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert end_of(client, topic) == 0
    assert produce(client, topic, make_batch(b"x")).base_offset == 0


@pytest.mark.parametrize(
    ("position", "layout", "wrong"),
    [
        (RECORD_COUNT, ">i", 5),
        (RECORD_COUNT, ">i", 0),
        (LAST_OFFSET_DELTA, ">i", 7),
        (0, ">q", 3),
    ],
)
def test_headers_that_do_not_fit_their_records(
    client: RawClient, topic: str, position: int, layout: str, wrong: int
) -> None:
    data = make_batch(b"a", b"b")
    struct.pack_into(layout, data, position, wrong)
    answer = produce(client, topic, resealed(data))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert end_of(client, topic) == 0


def test_records_behind_the_first_lz4_frame_are_none() -> None:
    """Clients do not read them; a broker that reads every record says so."""
    data = make_batch(b"a" * 40, b"b" * 40)
    half = HEADER_BYTES + (len(data) - HEADER_BYTES) // 2
    frames = [compress(Codec.LZ4, bytes(part)) for part in (data[HEADER_BYTES:half], data[half:])]
    packed = data[:HEADER_BYTES] + frames[0] + frames[1]
    packed[22] = int(Codec.LZ4)
    struct.pack_into(">i", packed, 8, len(packed) - 12)
    with Broker({"produce.validation": "full"}) as strict, RawClient(strict.port) as client:
        topic = strict.create_topic("frames")
        assert produce(client, topic, resealed(packed)).error_code == ErrorCode.INVALID_RECORD
        assert end_of(client, topic) == 0


def test_exactly_one_batch(client: RawClient, topic: str) -> None:
    two = make_batch(b"a") + make_batch(b"b")
    assert produce(client, topic, two).error_code == ErrorCode.INVALID_RECORD
    assert produce(client, topic, b"").error_code == ErrorCode.INVALID_RECORD
    assert end_of(client, topic) == 0


def test_batches_have_a_greatest_size(broker: Broker, client: RawClient) -> None:
    settings = {"max.message.bytes": 1000, **FOREVER}
    topic = broker.create_topic("limited", settings=settings)
    answer = produce(client, topic, make_batch(b"x" * 5000))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(client, topic, make_batch(b"x" * 500)).base_offset == 0
    # What counts is the size on the disk, compressed.
    packed = make_batch(b"x" * 5000, codec=Codec.GZIP)
    assert produce(client, topic, packed).base_offset == 1


def test_the_brokers_clock_on_records(broker: Broker, client: RawClient) -> None:
    settings = {"message.timestamp.type": "LogAppendTime", **FOREVER}
    topic = broker.create_topic("appended", settings=settings)
    answer = produce(client, topic, make_batch(b"a", b"b", timestamps=[1000, 1005]))
    assert abs(answer.log_append_time_ms - broker.clock.now_ms()) < 60_000
    (stored,) = batches_of(read(client, topic))
    assert stored.is_log_append_time
    assert (stored.base_timestamp, stored.max_timestamp) == (1000, answer.log_append_time_ms)
    found = list_offset(client, topic, answer.log_append_time_ms)
    assert (found.offset, found.timestamp) == (0, answer.log_append_time_ms)


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks(client: RawClient, topic: str, acks: int) -> None:
    answer = produce(client, topic, make_batch(b"x"), acks=acks)
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert end_of(client, topic) == 0


def test_partitions_succeed_and_fail_on_their_own(broker: Broker, client: RawClient) -> None:
    broker.create_topic("mixed", 2)
    good, bad = bytes(make_batch(b"x")), make_batch(b"x")
    bad[-1] ^= 1
    request = ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topics=[
            TopicProduceData(
                name=name,
                partitions=[PartitionProduceData(index=index, records=data)],
            )
            for name, index, data in (
                ("mixed", 0, good),
                ("mixed", 1, bytes(bad)),
                ("nope", 0, good),
            )
        ],
    )
    answers = [topic.partition_responses[0] for topic in client.call(request, 9).responses]
    assert [answer.error_code for answer in answers] == [
        0, ErrorCode.CORRUPT_MESSAGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]  # fmt: skip


def test_compacted_topics_need_keys(broker: Broker, client: RawClient) -> None:
    topic = broker.create_topic("compacted", settings={"cleanup.policy": "compact"})
    answer = produce(client, topic, make_batch(b"a", b"b", b"c", keys=[b"k", None, b"k"]))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1]
    assert produce(client, topic, make_batch(b"a", keys=[b"k"])).error_code == 0


# Idempotent producers.


def test_a_batch_sent_again_keeps_its_offset(client: RawClient, topic: str) -> None:
    me = Producer(1000)

    def send(sequence: int) -> tuple[int, int]:
        data = make_batch(b"v", producer=me, sequence=sequence)
        answer = produce(client, topic, data)
        return answer.error_code, answer.base_offset

    assert [send(sequence) for sequence in range(6)] == [(0, sequence) for sequence in range(6)]
    assert [send(sequence) for sequence in (5, 3, 1)] == [(0, 5), (0, 3), (0, 1)]
    assert end_of(client, topic) == 6
    assert send(8) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert send(6) == (0, 6)
    # The sixth batch back is not remembered.
    assert send(0) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert end_of(client, topic) == 7


def test_a_new_epoch_begins_at_0_and_fences_the_old(client: RawClient, topic: str) -> None:
    def send(epoch: int, sequence: int) -> int:
        producer = Producer(2000, epoch)
        return produce(
            client, topic, make_batch(b"v", producer=producer, sequence=sequence)
        ).error_code

    assert [send(0, 0), send(0, 1)] == [0, 0]
    assert send(1, 5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert [send(1, 0), send(1, 1)] == [0, 0]
    assert send(0, 2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end_of(client, topic) == 4


def test_producers_do_not_disturb_each_other(client: RawClient, topic: str) -> None:
    for sequence in range(3):
        for producer_id in (3000, 3001):
            producer = Producer(producer_id)
            data = make_batch(b"v", producer=producer, sequence=sequence)
            assert produce(client, topic, data).error_code == 0
    assert end_of(client, topic) == 6


def test_sequences_are_remembered_over_a_restart() -> None:
    me, now_ms = Producer(7), int(time.time() * 1000)

    def make(sequence: int) -> bytearray:
        # A producer that has been silent for a day is forgotten, by its records' timestamps.
        return make_batch(b"v", producer=me, sequence=sequence, timestamps=[now_ms])

    with Broker() as broker:
        broker.create_topic("t", settings=FOREVER)
        for how in (broker.restart, broker.kill):
            with RawClient(broker.port) as client:
                start = end_of(client, "t")
                for sequence in range(start, start + 3):
                    assert produce(client, "t", make(sequence)).base_offset == sequence
            how()
        broker.start()
        with RawClient(broker.port) as client:
            again = produce(client, "t", make(5))
            assert (again.error_code, again.base_offset) == (0, 5)
            gap = produce(client, "t", make(9))
            assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert (list_offset(client, "t", EARLIEST).offset, end_of(client, "t")) == (0, 6)


def committed(client: RawClient, topic: str) -> list[int]:
    """The offsets of the batches that a reader of committed records gets."""
    answer = fetch(client, (topic, 0, 0, 1 << 20), isolation_level=1)
    return [header.base_offset for header in batches_of(fetched(answer)[topic, 0])]


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_holds_up_what_stands_behind_it_until_it_ends(
    client: RawClient, topic: str, is_commit: bool
) -> None:
    writer = Transactional(client, topic, V1).begin()
    assert writer.add((topic, 0)) == [0]
    data = make_batch(b"held up", producer=Producer(*writer.id), sequence=0)
    data[22] |= TRANSACTIONAL
    first = produce(client, topic, resealed(data), transactional_id=writer.name)
    assert first.base_offset == 0
    assert produce(client, topic, make_batch(b"behind")).base_offset == 1
    assert committed(client, topic) == []
    assert writer.end(commit=is_commit) == 0
    wait_until(lambda: committed(client, topic) == [0, 1])
    answer = fetch(client, (topic, 0, 0, 1 << 20), isolation_level=1)
    aborted = fetched(answer)[topic, 0].aborted_transactions or []
    assert [each.producer_id for each in aborted] == ([] if is_commit else [writer.id.producer_id])


@pytest.mark.parametrize("stated", [-1, NOW_MS - 5, NOW_MS + 5, (1 << 63) - 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_offsets_by_time_are_those_of_the_records(
    client: RawClient, topic: str, codec: Codec, stated: int
) -> None:
    data = make_batch(b"a", b"b", timestamps=[NOW_MS, NOW_MS + 2], codec=codec)
    struct.pack_into(">q", data, 35, stated)
    assert produce(client, topic, resealed(data)).error_code == 0
    assert [h.max_timestamp for h in batches_of(read(client, topic))] == [NOW_MS + 2]
    found = [list_offset(client, topic, NOW_MS + late_ms).offset for late_ms in range(4)]
    assert found == [0, 1, 1, -1]


def test_old_timestamps_are_kept(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"a", timestamps=[NOW_MS - 5]))
    (record,) = decode_all(data_of(read(client, topic)))
    assert record.timestamp == NOW_MS - 5


def test_only_the_admin_client_writes_to_internal_topics(barnabas_broker: Broker) -> None:
    barnabas_broker.run(barnabas_broker.server.topics.auto_create("__consumer_offsets"))
    for client_id, code in (("anybody", ErrorCode.INVALID_TOPIC_EXCEPTION), ("__admin_client", 0)):
        with RawClient(barnabas_broker.port, client_id) as client:
            data = make_batch(b"", keys=[b"\0\x09"])  # a compacted topic wants keys
            assert produce(client, "__consumer_offsets", data).error_code == code
