"""Whoever asks for much waits for it alone: the others are served in between.

Not a limit of time is tested: turns are made very short, and then it is counted how often a request
was interrupted, and seen that a small one of somebody else is answered before it.
`scripts/bench stops` says how long the longest of these pieces takes.
"""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.server.handlers import HANDLERS
from barnabas.server.handlers.list_offsets import MAX_TIMESTAMP
from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.batch.steps import Elsewhere
from barnabas.wire.api import ApiKey
from barnabas.wire.compiler import MAX_ELEMENTS_IN_STEPS
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.large_requests import Large, large_requests
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    LATEST,
    NOW_MS,
    list_offset,
    make_batch,
    produce,
    produce_request,
)

ELEMENTS = 12_000
TURN_NS = 100_000
# One call reads or writes all of it, however much: 20,000 numbers are a millisecond. Refused
# before anything is looked at: protocols, too many partitions at once.
AT_ONCE = {
    "FETCH v18 forgotten_topics_data.partitions",
    "CREATE_TOPICS v7 topics.assignments",
    "CREATE_TOPICS v7 topics.assignments.broker_ids",
    "ALTER_PARTITION_REASSIGNMENTS v1 topics.partitions.replicas",
    "CREATE_PARTITIONS v3 topics.assignments",
    "CREATE_PARTITIONS v3 topics.assignments.broker_ids",
    "DESCRIBE_LOG_DIRS v5 topics.partitions",
    "LIST_CONFIG_RESOURCES v1 resource_types",
    *(
        f"LEADER_AND_ISR v7 topic_states.partition_states.{replicas}"
        for replicas in ("isr", "replicas", "adding_replicas", "removing_replicas")
    ),
    *(
        f"UPDATE_METADATA v8 topic_states.partition_states.{replicas}"
        for replicas in ("isr", "replicas", "offline_replicas")
    ),
    "LIST_TRANSACTIONS v2 producer_id_filters",
}
LARGE = [each for api in HANDLERS for each in large_requests(api, ELEMENTS)]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"auto.create.topics.enable": "false"}) as made:
        made.create_topic("known", 3)
        made.call(lambda: setattr(made.server.turns, "_turn_ns", TURN_NS))
        yield made


def test_every_api_that_takes_many_of_something_is_here() -> None:
    alone = {"HEARTBEAT", "SASL_HANDSHAKE", "API_VERSIONS", "INIT_PRODUCER_ID"}
    alone |= {"SASL_AUTHENTICATE", "DESCRIBE_CLUSTER", "ADD_OFFSETS_TO_TXN", "END_TXN"}
    alone |= {"CONTROLLED_SHUTDOWN", "ALLOCATE_PRODUCER_IDS"}
    alone |= {"DESCRIBE_ACLS", "RENEW_DELEGATION_TOKEN", "EXPIRE_DELEGATION_TOKEN"}
    assert {api.name for api in HANDLERS} - {each.api.name for each in LARGE} == alone


@pytest.mark.parametrize("large", [x for x in LARGE if str(x) not in AT_ONCE], ids=str)
def test_a_large_request_is_served_in_many_turns(broker: Broker, large: Large) -> None:
    turns = broker.server.turns
    before = turns.interruptions
    with RawClient(broker.port, timeout_s=60) as client:
        client.call(large.request, large.version)
    assert turns.interruptions - before >= 4


@pytest.mark.parametrize("large", [x for x in LARGE if x.api is ApiKey.PRODUCE], ids=str)
def test_a_produce_that_is_refused_as_a_whole_is_refused_in_as_many_turns(
    broker: Broker, large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose partitions are refused one by one: decoding and encoding are not all of it."""
    turns, taken = broker.server.turns, list[int]()
    monkeypatch.setattr(turns, "_turn_ns", 1)
    with RawClient(broker.port, timeout_s=60) as client:
        for acks in (1, 2):
            large.request.acks = acks  # type: ignore[attr-defined]  # it is a produce
            before = turns.interruptions
            client.call(large.request, large.version)
            taken.append(turns.interruptions - before)
    assert taken[1] > taken[0] - ELEMENTS // 2


@pytest.mark.parametrize("api", ["PRODUCE", "FETCH", "LIST_OFFSETS", "METADATA", "OFFSET_FETCH"])
def test_a_small_request_overtakes_a_large_one(
    broker: Broker, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The large one is held when its first turn is over: the small one needs no other's turn."""
    large = next(large_requests(ApiKey[api], 19_900))
    turns, answered = broker.server.turns, broker.requests
    grant = turns._grant
    with RawClient(broker.port, timeout_s=60) as client, RawClient(broker.port, "small") as small:
        before = turns.interruptions
        monkeypatch.setattr(turns, "_grant", lambda: None)
        client.send(large.request, large.version)
        while broker.call(lambda: turns.interruptions) == before:
            pass  # until it is held
        small.call(ApiVersionsRequest(), 0)
        monkeypatch.setattr(turns, "_grant", grant)
        broker.call(grant)
        client.receive()
    order = [seen.api.name for seen in list(answered)[-2:]]
    assert order == ["API_VERSIONS", api]


MANY = [Record(n, NOW_MS, b"k", b"v") for n in range(8_000)]


@pytest.mark.parametrize(
    ("settings", "records", "version"),
    [
        ({"cleanup.policy": "compact"}, build_batch(MANY), 9),
        ({"compression.type": "gzip"}, build_batch(MANY), 9),
        ({}, build_message_set(MANY, 0), 1),
        ({}, build_message_set(MANY, 1, codec=Codec.GZIP), 2),
        ({}, build_batch([*MANY[:-1], Record(7_999, 1 << 62, b"k", b"v")]), 9),
    ],
    ids=["keys", "recompressed", "format 0", "format 1, compressed", "timestamps"],
)
def test_records_that_are_looked_into_one_by_one_hold_nobody_up(
    broker: Broker,
    settings: dict[str, str],
    records: bytearray,
    version: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What another client sends meanwhile comes first in the log, and all of it is there."""
    topic = broker.create_topic(unique("looked-into"), settings=settings)
    turns = broker.server.turns
    monkeypatch.setattr(turns, "_turn_ns", 1)  # a turn for each step, however fast they are
    before, grant = turns.interruptions, turns._grant

    def grant_three() -> None:
        if turns.interruptions - before < 3:
            grant()

    monkeypatch.setattr(turns, "_grant", grant_three)
    with RawClient(broker.port, timeout_s=60) as client, RawClient(broker.port) as small:
        client.send(produce_request(topic, records), version)
        while broker.call(lambda: turns.interruptions) - before < 3:
            pass  # until it is held in the middle
        own = produce(small, topic, make_batch(b"first", keys=[b"k"]))
        monkeypatch.setattr(turns, "_grant", grant)
        broker.call(grant)
        answer = client.receive().responses[0].partition_responses[0]
        end = list_offset(small, topic, LATEST).offset
    assert turns.interruptions - before >= 4
    assert (own.error_code, own.base_offset) == (0, 0)
    if answer.error_code:
        assert (answer.error_code, end) == (ErrorCode.INVALID_TIMESTAMP, 1)
    else:
        assert (answer.base_offset, end) == (1, 1 + len(MANY))


ZEROES = [Record(n, NOW_MS, b"k", bytes(100_000)) for n in range(40)]


@pytest.mark.parametrize(
    ("settings", "records", "version"),
    [
        ({"compression.type": "zstd", "compression.zstd.level": "19"}, build_batch(MANY), 9),
        ({"compression.type": "gzip"}, build_batch(MANY), 9),
        ({"compression.type": "zstd"}, build_batch(ZEROES, codec=Codec.GZIP), 9),
        ({"cleanup.policy": "compact"}, build_batch(ZEROES, codec=Codec.ZSTD), 9),
        ({}, build_message_set(ZEROES, 1, codec=Codec.GZIP), 2),
    ],
    ids=["zstd", "gzip", "another codec", "a small bomb", "format 1"],
)
def test_what_a_codec_works_on_for_long_is_done_while_others_are_served(
    broker: Broker,
    settings: dict[str, str],
    records: bytearray,
    version: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The codec's first call is held back until another client has written to the partition."""
    topic = broker.create_topic(unique("codec"), settings=settings)
    turns = broker.server.turns
    made, make = turns.made_elsewhere, turns._make_elsewhere
    held, go_on = threading.Event(), asyncio.Event()

    async def make_later(call: Elsewhere[Any]) -> None:
        held.set()
        await go_on.wait()
        await make(call)

    monkeypatch.setattr(turns, "_make_elsewhere", make_later)
    with RawClient(broker.port, timeout_s=60) as client, RawClient(broker.port) as small:
        client.send(produce_request(topic, records), version)
        assert held.wait(60)
        own = produce(small, topic, make_batch(b"first", keys=[b"k"]))
        broker.call(go_on.set)
        answer = client.receive().responses[0].partition_responses[0]
        end = list_offset(small, topic, LATEST).offset
    count = len(ZEROES) if len(records) < 30_000 else len(MANY)
    assert (own.error_code, own.base_offset) == (0, 0)
    assert (answer.error_code, answer.base_offset, end) == (0, 1, 1 + count)
    assert turns.made_elsewhere > made


@pytest.mark.parametrize("timestamp", [NOW_MS + 1, MAX_TIMESTAMP])
def test_a_search_by_time_in_a_large_batch_is_done_in_steps(
    broker: Broker, timestamp: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another client's request is answered while the batch's records are looked at."""
    records = [*MANY[:-1], Record(len(MANY) - 1, NOW_MS + 1, b"k", b"v")]
    topic = broker.create_topic(unique("searched"))
    turns = broker.server.turns
    with RawClient(broker.port, timeout_s=60) as client, RawClient(broker.port) as small:
        produce(client, topic, build_batch(records))
        monkeypatch.setattr(turns, "_turn_ns", 1)
        before, grant, held = turns.interruptions, turns._grant, threading.Event()
        monkeypatch.setattr(turns, "_grant", held.set)
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topics = [ListOffsetsTopic(name=topic, partitions=[partition])]
        client.send(ListOffsetsRequest(replica_id=-1, topics=topics), 7)
        assert held.wait(60)
        small.call(ApiVersionsRequest(), 0)
        monkeypatch.setattr(turns, "_grant", grant)
        broker.call(grant)
        found = client.receive().topics[0].partitions[0]
    assert (found.offset, found.timestamp) == (len(MANY) - 1, NOW_MS + 1)
    assert turns.interruptions - before >= len(MANY) // 64


def test_requests_behind_a_large_one_keep_their_order(broker: Broker) -> None:
    """What comes on the same connection waits, and finds its own bytes when its turn is there."""
    many = MetadataRequest(topics=[MetadataRequestTopic(name=f"n{n}") for n in range(5_000)])
    one = MetadataRequest(topics=[MetadataRequestTopic(name="known")])
    with RawClient(broker.port, timeout_s=60) as client:
        for request in (many, one, many, one):
            client.send(request, 9)
        counts = [[topic.name for topic in client.receive().topics] for _ in range(4)]
    names = [f"n{n}" for n in range(5_000)]
    assert counts == [names, ["known"], names, ["known"]]


def test_who_leaves_while_being_served_holds_nobody_up(broker: Broker) -> None:
    many = MetadataRequest(topics=[MetadataRequestTopic(name=f"n{n}") for n in range(20_000)])
    for _ in range(3):
        with RawClient(broker.port) as gone:
            gone.send(many, 9)
    with RawClient(broker.port, timeout_s=60) as client:
        assert len(client.call(many, 9).topics) == 20_000


def test_a_frame_of_too_many_elements_closes_the_connection(broker: Broker) -> None:
    most = MAX_ELEMENTS_IN_STEPS
    broker.call(lambda: setattr(broker.server.turns, "_turn_ns", 4_000_000))
    for count, is_served in ((most, True), (most + 1, False)):
        topics = [MetadataRequestTopic(name="known")] * count
        with RawClient(broker.port, timeout_s=60) as client:
            client.send(MetadataRequest(topics=topics), 4)
            if is_served:
                assert len(client.receive().topics) == count
            else:
                assert client.is_closed()
