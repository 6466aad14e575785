"""What comes out of a request is returned: whoever processes a frame touches no connection."""

import asyncio
import inspect
from collections.abc import Callable, Iterator

import pytest

from barnabas.server.core.delayed import Deferred
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import leave_group
from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.network.outcomes import Close, Outcome
from barnabas.server.testing.broker import Broker
from barnabas.wire.compiler import Steps
from barnabas.wire.connection import ClientConnection, Encoded
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from barnabas.wire.schema import Message
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, make_batch, produce_request
from tests.server.waiting import wait_until

VERSIONS = ApiVersionsRequest(client_software_name="t", client_software_version="1")


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as made:
        made.call(VERSIONS, 3)
        yield made


def connection_of(broker: Broker, client: RawClient) -> Connection:
    """The broker's end of it."""
    port = client.sock.getsockname()[1]
    return next(c for c in broker.server.population.connections if c.peer_port == port)


def process(broker: Broker, client: RawClient, frame: bytes) -> Outcome:
    """What comes out of a frame on the client's connection, which reads it from nowhere."""

    def work() -> Outcome:
        mine = connection_of(broker, client)
        outcome = broker.server.dispatcher.process(mine, memoryview(bytearray(frame)))
        assert_untouched(mine)
        return outcome

    return broker.call(work)


def assert_untouched(connection: Connection) -> None:
    assert connection.state is ConnectionState.READING
    assert not connection.outbox


def frame_of(request: Message, version: int) -> bytes:
    return ClientConnection("t").send(request, version)[4:]


def test_an_answer(broker: Broker, client: RawClient) -> None:
    outcome = process(broker, client, frame_of(VERSIONS, 3))
    assert isinstance(outcome, Encoded)


def test_something_parked(broker: Broker, client: RawClient) -> None:
    topic = broker.create_topic("parked-outcome")
    outcome = process(broker, client, frame_of(fetch_request(topic, 0, max_wait_ms=60_000), 11))
    assert outcome is not None and not isinstance(outcome, (Encoded, Close))
    broker.call(outcome.cancel)


@pytest.mark.parametrize("size", [10, 100_000])
def test_nothing_or_the_end_where_nobody_reads_an_answer(
    broker: Broker, client: RawClient, size: int
) -> None:
    topic = broker.create_topic(f"silent-outcome-{size}")
    batch = make_batch(bytes(size))
    assert process(broker, client, frame_of(produce_request(topic, batch, acks=0), 7)) is None
    refused = frame_of(produce_request("nowhere", batch, acks=0), 7)
    outcome = process(broker, client, refused)
    assert isinstance(outcome, Close)
    assert outcome.reason == "a produce with acks=0 failed with UNKNOWN_TOPIC_OR_PARTITION"


def test_the_end_where_nobody_serves(broker: Broker, client: RawClient) -> None:
    frame = bytearray(frame_of(HeartbeatRequest(group_id="g"), 0))
    frame[:2] = b"\x7f\0"
    outcome = process(broker, client, bytes(frame))
    assert isinstance(outcome, Close)
    assert outcome.reason == "API key 32512 is not served"


def test_a_fault_is_an_outcome_too(broker: Broker, client: RawClient) -> None:
    whole = process(broker, client, frame_of(VERSIONS, 3))
    assert isinstance(whole, Encoded)
    broker.faults.add("truncate", api="API_VERSIONS")
    outcome = process(broker, client, frame_of(VERSIONS, 3))
    broker.faults.clear()
    assert isinstance(outcome, Close)
    assert bytes(whole).startswith(outcome.last)
    assert len(outcome.last) == whole.size_bytes // 2


def at_once(answer: Message) -> Message:
    return answer


def in_steps(answer: Message) -> Sliced[Message]:
    def steps() -> Steps[Message]:
        yield
        return answer

    return Sliced(steps())


def after_a_wait(answer: Message) -> Deferred[Message]:
    deferred: Deferred[Message] = Deferred()
    asyncio.get_running_loop().call_soon(deferred.give, answer)
    return deferred


async def by_a_task(answer: Message) -> Message:
    await asyncio.sleep(0)
    return answer


@pytest.mark.broker_says("an answer has no bytes api=LEAVE_GROUP")
@pytest.mark.parametrize("delay_ms", [0, 1])
@pytest.mark.parametrize("come_to", [at_once, in_steps, after_a_wait, by_a_task])
def test_an_answer_that_cannot_be_made_into_bytes_ends_its_connection_whenever_it_is_there(
    monkeypatch: pytest.MonkeyPatch, come_to: Callable[[Message], object], delay_ms: int
) -> None:
    """A bug: its client is not left waiting, and the next one is served."""

    def wrong(*_: object) -> object:
        return come_to(LeaveGroupResponse(members=[None]))  # type: ignore[list-item]

    monkeypatch.setattr(leave_group, "handle", wrong)
    with Broker() as broker, RawClient(broker.port) as client, RawClient(broker.port) as other:
        if delay_ms:
            broker.faults.add("delay", api="LEAVE_GROUP", delay_ms=delay_ms)
        client.send(LeaveGroupRequest(group_id="g"), 4)
        assert client.is_closed()
        assert other.call(VERSIONS, 3).error_code == 0


@pytest.mark.parametrize("members", [1, 2_000], ids=["small", "large"])
def test_what_is_cancelled_before_it_begins_is_not_left_behind(
    monkeypatch: pytest.MonkeyPatch, members: int
) -> None:
    """A broker stops just then; Python warns of a coroutine that nobody has waited for."""
    handled = []

    def handle(*_: object) -> object:
        handled.append(by_a_task(LeaveGroupResponse()))
        return handled[0]

    monkeypatch.setattr(leave_group, "handle", handle)
    left = [MemberIdentity(member_id=f"{number:0>30}") for number in range(members)]
    frame = frame_of(LeaveGroupRequest(group_id="g", members=left), 4)
    with Broker() as broker, RawClient(broker.port) as client:
        client.call(VERSIONS, 3)

        def cut_off() -> None:
            broker.server.turns._turn_ns = 60_000_000_000  # however long it takes to decode
            mine = connection_of(broker, client)
            broker.server.dispatcher.process(mine, memoryview(bytearray(frame)))
            broker.server.dispatcher.stop()

        broker.call(cut_off)
        (work,) = handled
        wait_until(lambda: inspect.getcoroutinestate(work) == inspect.CORO_CLOSED)
