"""Faults: which requests they mean, and what they do to them, over real connections."""

import re
import time
from collections.abc import Iterator

import pytest

from barnabas.server.requests.faults import Action, Fault, topic_partitions
from barnabas.server.testing.broker import Broker
from barnabas.server.testing.faults import AddedFault
from barnabas.server.testing.predicates import PredicateFailed
from barnabas.storage.batch.records import decode_batch
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.server.names import unique
from tests.server.raw_client import TIMEOUT_S, RawClient
from tests.server.records import (
    batches_of,
    data_of,
    fetch_request,
    make_batch,
    produce,
    produce_request,
    read,
)
from tests.server.waiting import wait_until


@pytest.fixture(autouse=True)
def _no_faults_left(broker: Broker) -> Iterator[None]:
    yield
    broker.faults.clear()


@pytest.fixture
def topic(broker: Broker, client: RawClient, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, with a record in it."""
    name = broker.create_topic(re.sub(r"\W+", "-", request.node.name), 2)
    assert produce(client, name, make_batch(b"x" * 400)).error_code == ErrorCode.NONE
    return name


def answered(client: RawClient, topic: str) -> FetchResponse:
    response = client.call(fetch_request(topic, 0), 4)
    assert isinstance(response, FetchResponse)
    return response


def test_an_error_is_answered_and_nothing_is_done(
    broker: Broker, client: RawClient, topic: str
) -> None:
    broker.faults.add("error", api="PRODUCE", error="NOT_LEADER_OR_FOLLOWER")
    refused = produce(client, topic, make_batch(b"y"))
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produce(client, topic, make_batch(b"y")).base_offset == 1


def test_no_error_is_an_answer_too_and_nothing_is_done(
    broker: Broker, client: RawClient, topic: str
) -> None:
    broker.faults.add("error", api="PRODUCE", error="NONE")
    assert produce(client, topic, make_batch(b"y")).error_code == ErrorCode.NONE
    assert answered(client, topic).responses[0].partitions[0].high_watermark == 1


def test_an_error_for_a_produce_without_acks_closes_the_connection(
    broker: Broker, client: RawClient, topic: str
) -> None:
    # A client with acks=0 reads no answer: one that came all the same would be taken for the
    # answer to its next request. Kafka closes the connection instead.
    broker.faults.add("error", api="PRODUCE", error="NOT_LEADER_OR_FOLLOWER")
    client.send(produce_request(topic, make_batch(b"y"), acks=0), 7, answered=False)
    assert client.is_closed()


def test_a_delayed_request_is_carried_out_when_its_time_comes(
    broker: Broker, client: RawClient, topic: str
) -> None:
    broker.faults.add("delay", api="FETCH", delay_ms=50)
    began = time.monotonic()
    assert answered(client, topic).responses[0].partitions[0].high_watermark == 1
    assert time.monotonic() - began >= 0.05


@pytest.mark.parametrize("size", [10, 3_000, 100_000])
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_delayed_produces_append_what_each_of_them_sent(
    broker: Broker, client: RawClient, size: int, acks: int
) -> None:
    topic = broker.create_topic(unique("delayed"), 1, {"retention.ms": -1})
    slow = broker.faults.add("delay", api="PRODUCE", delay_ms=60_000, times=None)
    sent = [bytes([ord("a") + number]) * size for number in range(3)]
    for number, value in enumerate(sent):
        client.send(produce_request(topic, make_batch(value), acks=acks), 7, answered=acks != 0)
        if number:  # it waits behind the one before, whose time comes now
            wait_until(lambda: has_frame_waiting(broker))
            broker.clock.advance("1 minute")
        wait_until(lambda: slow.hits == number + 1)  # noqa: B023
    broker.clock.advance("1 minute")
    if acks:
        answers = [client.receive().responses[0].partition_responses[0] for _ in sent]
        assert [(each.error_code, each.base_offset) for each in answers] == [(0, 0), (0, 1), (0, 2)]
    wait_until(lambda: read(client, topic).high_watermark == 3)
    kept = read(client, topic)
    data = data_of(kept)
    assert [
        record.value for each in batches_of(kept) for record in decode_batch(data, each)
    ] == sent


def has_frame_waiting(broker: Broker) -> bool:
    """Whether a request has come whole that is not served yet."""
    listening = broker.server.population.connections
    return broker.call(lambda: any(each.frames.has_frame() for each in listening))


def test_a_dropped_request_is_never_answered(broker: Broker, topic: str) -> None:
    fault = broker.faults.add("drop", api="FETCH")
    with RawClient(broker.port) as client:
        client.send(fetch_request(topic, 0), 4)
        wait_for_hit(fault)
        broker.clock.advance("1 minute")
        client.sock.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.sock.recv(1)


@pytest.mark.parametrize(("action", "kept"), [("close", 1), ("close_after", 2), ("truncate", 2)])
def test_a_connection_is_closed_before_or_after_the_work(
    action: Action, kept: int, broker: Broker, topic: str
) -> None:
    broker.faults.add(action, api="PRODUCE")
    with RawClient(broker.port) as client:
        client.send(produce_request(topic, make_batch(b"y")), 7)
        received = b""
        while data := client.sock.recv(1 << 16):
            received += data
    assert bool(received) is (action == "truncate")
    with RawClient(broker.port) as client:
        assert answered(client, topic).responses[0].partitions[0].high_watermark == kept


def test_half_an_answer_holds_half_of_the_records(broker: Broker, topic: str) -> None:
    with RawClient(broker.port) as client:
        client.send(fetch_request(topic, 0), 4)
        whole = client.sock.recv(1 << 16)
        broker.faults.add("truncate", api="FETCH")
        client.send(fetch_request(topic, 0), 4)
        half = b""
        while data := client.sock.recv(1 << 16):
            half += data
    assert len(half) == len(whole) // 2


def test_an_answer_says_that_the_client_is_throttled(
    broker: Broker, client: RawClient, topic: str
) -> None:
    broker.requests.clear()
    broker.faults.add("throttle", api="FETCH", throttle_ms=250)
    assert answered(client, topic).throttle_time_ms == 250
    logged = broker.requests.of("FETCH")[0].response
    assert isinstance(logged, FetchResponse) and logged.throttle_time_ms == 250


@pytest.mark.parametrize("acks", [0, 1])
def test_a_throttled_connection_is_muted_for_its_time(
    broker: Broker, client: RawClient, topic: str, acks: int
) -> None:
    broker.faults.add("throttle", api="PRODUCE", throttle_ms=60_000)
    batch = make_batch(b"y")
    client.send(produce_request(topic, batch, acks=acks), 7, answered=acks != 0)
    if acks:
        assert client.receive().throttle_time_ms == 60_000
    client.send(fetch_request(topic, 1), 4)
    client.sock.settimeout(0.05)
    with pytest.raises(TimeoutError):
        client.sock.recv(1)
    client.sock.settimeout(TIMEOUT_S)
    broker.clock.advance("1 minute")
    assert client.receive().throttle_time_ms == 0


def test_an_answer_without_room_for_it_goes_out_as_it_is(broker: Broker, client: RawClient) -> None:
    fault = broker.faults.add("throttle", throttle_ms=250)
    answer = client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert fault.hits == 1


@pytest.mark.parametrize(
    ("matcher", "hits"),
    [
        ({"api": "FETCH"}, 1),
        ({"api": "METADATA"}, 0),
        ({"version": 4}, 1),
        ({"version": 5}, 0),
        ({"client_id": "raw"}, 1),
        ({"client_id": "cooked"}, 0),
        ({"partition": 0}, 1),
        ({"partition": 1}, 0),
        ({"skip": 1}, 0),
    ],
    ids=str,
)
def test_a_fault_means_some_requests(
    matcher: dict[str, str | int], hits: int, broker: Broker, client: RawClient, topic: str
) -> None:
    fault = broker.faults.add(**matcher)  # type: ignore[arg-type]  # of many types
    answered(client, topic)
    assert fault.hits == hits


def test_a_topic_is_known_by_name_and_by_id(broker: Broker, client: RawClient, topic: str) -> None:
    fault = broker.faults.add(api="FETCH", topic=topic, times=None)
    other = broker.faults.add(api="FETCH", topic="other", times=None)
    answered(client, topic)
    by_id = fetch_request(topic, 0)
    by_id.topics[0].topic_id = broker.call(lambda: broker.server.metadata.topics[topic].topic_id)
    client.call(by_id, 13)
    assert (fault.hits, other.hits) == (2, 0)


def test_an_incremental_fetch_means_what_its_session_fetches(
    broker: Broker, client: RawClient, topic: str
) -> None:
    # Java's consumer names its partitions once and then sends changes: none, mostly (KIP-227).
    fault = broker.faults.add(api="FETCH", topic=topic, partition=0, times=None)
    other = broker.faults.add(api="FETCH", topic=topic, partition=1, times=None)
    opening = fetch_request(topic, 0)
    opening.session_id, opening.session_epoch = 0, 0
    session_id = client.call(opening, 7).session_id
    assert session_id != 0
    client.call(FetchRequest(session_id=session_id, session_epoch=1), 7)
    assert (fault.hits, other.hits) == (2, 0)


def test_some_pass_and_then_so_many_are_hit(broker: Broker, client: RawClient) -> None:
    fault = broker.faults.add(
        "error", api="FIND_COORDINATOR", error="NOT_COORDINATOR", skip=1, times=2
    )
    codes = [client.call(FindCoordinatorRequest(key="g"), 2).error_code for _ in range(4)]
    assert [code == ErrorCode.NOT_COORDINATOR for code in codes] == [False, True, True, False]
    assert (fault.seen, fault.hits) == (4, 2)


def test_the_first_that_acts_has_the_request(broker: Broker, client: RawClient) -> None:
    counted = broker.faults.add(api="FIND_COORDINATOR", times=None)
    first = broker.faults.add("error", api="FIND_COORDINATOR", error="NOT_COORDINATOR")
    second = broker.faults.add("error", api="FIND_COORDINATOR", error="GROUP_AUTHORIZATION_FAILED")
    codes = [client.call(FindCoordinatorRequest(key="g"), 2).error_code for _ in range(2)]
    assert codes == [ErrorCode.NOT_COORDINATOR, ErrorCode.GROUP_AUTHORIZATION_FAILED]
    assert (counted.hits, first.hits, second.hits) == (2, 1, 1)


def test_topics_and_partitions_are_found_wherever_a_request_names_them() -> None:
    def nobody(topic_id: object) -> None:
        return None

    commit = OffsetCommitRequest(
        topics=[
            OffsetCommitRequestTopic(
                name="t", partitions=[OffsetCommitRequestPartition(partition_index=3)]
            )
        ]
    )
    assert list(topic_partitions(commit, nobody)) == [("t", 3)]
    whole = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    assert list(topic_partitions(whole, nobody)) == [("t", None)]
    deleted = DeleteTopicsRequest(topic_names=["t", "u"])
    assert list(topic_partitions(deleted, nobody)) == [("t", None), ("u", None)]
    added = AddPartitionsToTxnRequest(
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[1, 2])]
    )
    assert list(topic_partitions(added, nobody)) == [("t", 1), ("t", 2)]
    led = LeaderAndIsrRequest(
        ungrouped_partition_states=[LeaderAndIsrPartitionState(topic_name="t", partition_index=4)]
    )
    assert ("t", 4) in list(topic_partitions(led, nobody))


def wait_for_hit(fault: AddedFault) -> None:
    wait_until(lambda: fault.hits > 0)


@pytest.mark.broker_says("a fault cannot be matched.*PRODUCE")
def test_a_predicate_that_raises_is_said_and_the_client_served(
    broker: Broker, client: RawClient, topic: str
) -> None:
    """What `broker.faults` adds is guarded, and fails the test; this one is not."""
    unguarded = Fault(action="close", predicate=lambda request: bool(request.no))
    faults = broker.server.dispatcher.faults
    broker.call(lambda: faults.add(unguarded))
    assert produce(client, topic, make_batch(b"y")).base_offset == 1
    broker.faults.clear()
    broker.faults.add("close", predicate=lambda request: request.no_such_field)
    assert produce(client, topic, make_batch(b"z")).base_offset == 2
    with pytest.raises(PredicateFailed, match="'ProduceRequest' object has no attribute"):
        broker.faults.clear()


@pytest.mark.broker_says("an observer failed.*ProduceRequest")
def test_an_observer_that_raises_is_said_and_the_client_served(
    broker: Broker, client: RawClient, topic: str
) -> None:
    def observe(*_: object) -> None:
        raise ValueError("of the test")

    dispatcher = broker.server.dispatcher
    observer = dispatcher.observer
    dispatcher.observer = observe
    try:
        assert produce(client, topic, make_batch(b"y")).base_offset == 1
        client.send(produce_request(topic, make_batch(b"z"), acks=0), 9, answered=False)
        assert produce(client, topic, make_batch(b"y")).base_offset == 3
    finally:
        dispatcher.observer = observer
