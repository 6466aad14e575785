"""Who is let in, who waits, who is closed: real sockets against a real broker."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.server.raw_client import TIMEOUT_S, RawClient
from tests.server.records import fetch_request, make_batch, produce
from tests.server.waiting import wait_until, wait_until_watched

TWO_LISTENERS = {
    "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}


def answers(client: RawClient) -> bool:
    return bool(client.call(ApiVersionsRequest(), 0).error_code == 0)


def waits(client: RawClient, for_s: float = 0.2) -> bool:
    """Whether a request is neither answered nor refused; the answer may come later."""
    client.send(ApiVersionsRequest(), 0)
    client.sock.settimeout(for_s)
    try:
        client.sock.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        client.sock.settimeout(TIMEOUT_S)
    return False


@contextmanager
def clients(port: int, count: int) -> Iterator[list[RawClient]]:
    with ExitStack() as stack:
        yield [stack.enter_context(RawClient(port)) for _ in range(count)]


def port_of(broker: Broker, name: str) -> int:
    return next(each.port for each in broker.server.listeners if each.name == name)


def set_live(broker: Broker, name: str, value: int) -> None:
    broker.call(lambda: broker.server.config.set_dynamic(broker={name: str(value)}))


def test_an_idle_connection_is_closed_and_others_are_not() -> None:
    with Broker({"connections.max.idle.ms": 50_000}) as broker:
        topic = broker.create_topic("t")
        with clients(broker.port, 3) as (idle, busy, parked):
            assert answers(idle)
            assert answers(busy)
            parked.send(fetch_request(topic, 0, max_wait_ms=200_000), 11)
            wait_until_watched(broker, topic)
            broker.clock.advance("40 s")
            assert answers(busy)
            broker.clock.advance("30 s")
            assert idle.is_closed()
            assert answers(busy)
            broker.clock.advance("200 s")
            assert parked.receive().responses[0].partitions[0].error_code == 0


def test_a_client_that_does_not_take_its_answer_is_idle_and_one_that_is_slow_is_not() -> None:
    """Its answer keeps files open, so their room on the disk is not free before it is gone."""
    with Broker({"connections.max.idle.ms": 50_000}) as broker:
        topic = broker.create_topic("large")
        with clients(broker.port, 3) as (writer, stuck, slow):
            for _ in range(40):
                produce(writer, topic, make_batch(bytes(1_000_000)))
            for reader in (stuck, slow):
                reader.send(fetch_request(topic, 0, max_bytes=1 << 30), 11)
            wait_until(lambda: len(sending(broker)) == 2)
            port = slow.sock.getsockname()[1]
            slower = next(each for each in sending(broker) if each.peer_port == port)
            taken = bytearray()
            for _ in range(3):
                broker.clock.advance("40 s")
                before_ms = slower.last_active_ms
                while slower.last_active_ms == before_ms:
                    taken += (data := slow.sock.recv(1 << 16))
                    assert data and len(taken) < 40_000_000
            wait_until(lambda: sending(broker) == [slower])
            slow.wire.receive_data(bytes(taken))
            assert len(slow.receive().responses[0].partitions[0].records) > 40_000_000


def sending(broker: Broker) -> list[Connection]:
    state = ConnectionState.SENDING
    return [each for each in tuple(broker.server.population.connections) if each.state is state]


def test_below_zero_no_connection_is_idle_for_too_long() -> None:
    with Broker({"connections.max.idle.ms": -1}) as broker, RawClient(broker.port) as client:
        assert answers(client)
        broker.clock.advance("30 days")
        assert answers(client)


def test_beyond_the_brokers_limit_a_client_waits_until_another_leaves() -> None:
    with Broker({"max.connections": 2}) as broker, clients(broker.port, 4) as made:
        first, second, third, fourth = made
        assert answers(first)
        assert answers(second)
        assert waits(third)
        assert waits(fourth)
        first.sock.close()
        assert third.receive().error_code == 0
        set_live(broker, "max.connections", 3)
        assert fourth.receive().error_code == 0


def test_a_listeners_own_limit_holds_for_it_alone() -> None:
    settings = {**TWO_LISTENERS, "listener.name.outside.max.connections": 1}
    with Broker(settings) as broker, ExitStack() as stack:
        outside, held = stack.enter_context(clients(port_of(broker, "OUTSIDE"), 2))
        inside = stack.enter_context(clients(port_of(broker, "INSIDE"), 3))
        assert answers(outside)
        assert waits(held)
        assert all(map(answers, inside))
        set_live(broker, "listener.name.outside.max.connections", 2)
        assert held.receive().error_code == 0


def test_the_listener_between_brokers_takes_the_place_of_who_was_idle_longest() -> None:
    settings = {**TWO_LISTENERS, "max.connections": 3, "listener.name.inside.max.connections": 9}
    with Broker(settings) as broker, ExitStack() as stack:
        topic = broker.create_topic("t")
        outside = stack.enter_context(clients(port_of(broker, "OUTSIDE"), 3))
        parked, idle, fresh = outside
        parked.send(fetch_request(topic, 0, max_wait_ms=60_000), 11)
        wait_until_watched(broker, topic)
        assert answers(idle)
        assert answers(fresh)
        for closed in (idle, fresh):
            (inside,) = stack.enter_context(clients(port_of(broker, "INSIDE"), 1))
            assert answers(inside)
            assert closed.is_closed()
        assert broker.call(lambda: len(broker.server.fetches)) == 1
        (late,) = stack.enter_context(clients(port_of(broker, "OUTSIDE"), 1))
        assert waits(late)


def test_a_lowered_limit_closes_the_idle_ones() -> None:
    with Broker() as broker, clients(broker.port, 4) as made:
        assert all(map(answers, made))
        set_live(broker, "max.connections", 1)
        wait_until(lambda: len(broker.server.population.connections) == 1)
        assert [client.is_closed() for client in made[:3]] == [True] * 3
        assert answers(made[3])


def test_beyond_the_limit_of_an_address_a_client_is_closed_at_once() -> None:
    with Broker({"max.connections.per.ip": 2}) as broker, clients(broker.port, 3) as made:
        assert answers(made[0])
        assert answers(made[1])
        assert made[2].is_closed()
        made[0].sock.close()
        wait_until(lambda: len(broker.server.population.connections) == 1)
        with RawClient(broker.port) as another:
            assert answers(another)


@pytest.mark.parametrize("prefix", ["", "listener.name.plaintext."])
def test_connections_that_come_too_fast_are_accepted_later(prefix: str) -> None:
    name = f"{prefix}max.connection.creation.rate"
    with Broker({name: 10, "quota.window.num": 2}) as broker:
        started = time.monotonic()
        with clients(broker.port, 16) as made:
            assert all(map(answers, made))
        assert time.monotonic() - started > 0.3


def test_a_client_that_left_while_it_waited_takes_no_place() -> None:
    with Broker({"max.connections": 1}) as broker, clients(broker.port, 2) as (first, last):
        assert answers(first)
        for _ in range(3):
            gone = socket.create_connection(("127.0.0.1", broker.port), 10)
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
        first.sock.close()
        assert answers(last)
