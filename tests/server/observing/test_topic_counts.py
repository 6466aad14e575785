"""Every count of a topic that is exported is counted somewhere: by what, is told here."""

import struct
from collections.abc import Callable, Iterator

import pytest

from barnabas.server.observing.topic_metrics import TOPIC_COUNTS
from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import NOW_MS, fetch_request, make_batch, produce, read

OTHER = 7
BATCH = make_batch(b"one", b"two", keys=[b"k", b"k"])
KEYLESS = make_batch(b"one", b"two", b"three", keys=[b"k", None, None])
Act = Callable[[Broker, RawClient, str], object]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Without the looks at every record that tests want otherwise."""
    with Broker({"produce.validation": "fast"}) as made:
        yield made


def counts_of(broker: Broker, topic: str) -> dict[str, int]:
    """What is not nought."""

    def read() -> dict[str, int]:
        counts = broker.server.metrics.topics[topic]
        return {name: getattr(counts, name) for name in TOPIC_COUNTS if getattr(counts, name)}

    return broker.call(read)


def append(data: bytes | bytearray, version: int = 9) -> Act:
    return lambda broker, client, topic: produce(client, topic, data, version=version)


def append_and_fetch(broker: Broker, client: RawClient, topic: str) -> None:
    produce(client, topic, BATCH)
    read(client, topic)


def append_and_fetch_as_a_follower(broker: Broker, client: RawClient, topic: str) -> None:
    produce(client, topic, BATCH)
    partition, own = broker.server.replicas.require(topic, 0), broker.server.broker_id
    broker.call(lambda: partition.become_leader(1, (own, OTHER), (own,)))
    request = fetch_request(topic, 0)
    request.replica_id = OTHER
    client.call(request, 11)


def append_and_fetch_as_format_1(broker: Broker, client: RawClient, topic: str) -> None:
    produce(client, topic, BATCH)
    client.call(fetch_request(topic, 0), 2)


def append_and_fetch_what_was_damaged(broker: Broker, client: RawClient, topic: str) -> None:
    for _ in range(2):  # the last batch of a log is not looked into
        produce(client, topic, BATCH)
    (log,) = (broker.data_dir / f"{topic}-0").glob("*.log")
    with log.open("r+b") as file:
        file.write(bytes(60))
    assert read(client, topic, 1).error_code == 2


def with_wrong_crc() -> bytearray:
    data = bytearray(BATCH)
    data[-1] ^= 1
    return data


def with_base_offset(offset: int) -> bytearray:
    data = bytearray(BATCH)
    struct.pack_into(">q", data, 0, offset)
    return data


def of_two_formats() -> bytes:
    records = [Record(offset=0, timestamp=NOW_MS, key=b"k", value=b"v")]
    return b"".join(bytes(build_message_set(records, magic)) for magic in (0, 1))


REFUSED = {"failed_produce_requests": 1, "total_produce_requests": 1}
APPENDED = {"bytes_in": len(BATCH), "messages_in": 2, "total_produce_requests": 1}
CASES: dict[str, tuple[dict[str, object], Act, dict[str, int]]] = {
    "appended": ({}, append(BATCH), APPENDED),
    "fetched": (
        {},
        append_and_fetch,
        {**APPENDED, "bytes_out": len(BATCH), "total_fetch_requests": 1},
    ),
    "fetched by a follower": (
        {},
        append_and_fetch_as_a_follower,
        {**APPENDED, "replication_bytes_out": len(BATCH), "total_fetch_requests": 1},
    ),
    "fetched by an old client": (
        {},
        append_and_fetch_as_format_1,
        {
            **APPENDED,
            "bytes_out": len(BATCH),
            "total_fetch_requests": 1,
            "fetch_message_conversions": 2,
        },
    ),
    "damaged": (
        {},
        append_and_fetch_what_was_damaged,
        {
            "bytes_in": 2 * len(BATCH),
            "messages_in": 4,
            "total_produce_requests": 2,
            "total_fetch_requests": 1,
            "failed_fetch_requests": 1,
        },
    ),
    "compressed": (
        {"compression.type": "gzip"},
        append(BATCH),
        {**APPENDED, "produce_message_conversions": 2},
    ),
    "too large": (
        {"max.message.bytes": 20},
        append(BATCH),
        {"total_produce_requests": 1, "bytes_rejected": len(BATCH)},
    ),
    "of a wrong CRC": (
        {},
        append(with_wrong_crc()),
        {"total_produce_requests": 1, "invalid_message_crc_records": 1},
    ),
    "of a wrong offset": (
        {},
        append(with_base_offset(7)),
        {**REFUSED, "invalid_offset_or_sequence_records": 1},
    ),
    "of two formats": (
        {},
        append(of_two_formats(), version=2),
        {**REFUSED, "invalid_magic_number_records": 1},
    ),
    "without keys": (
        {"cleanup.policy": "compact"},
        append(KEYLESS),
        {**REFUSED, "no_key_compacted_topic_records": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_happens_to_a_topic_is_counted(case: str, broker: Broker) -> None:
    settings, act, expected = CASES[case]
    topic = broker.create_topic(unique("t"), settings=settings)
    with RawClient(broker.port) as client:
        act(broker, client, topic)
    assert counts_of(broker, topic) == expected


def test_nothing_is_exported_that_nothing_counts() -> None:
    assert {name for _, _, expected in CASES.values() for name in expected} == set(TOPIC_COUNTS)
