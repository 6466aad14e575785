"""A wire carries bytes both ways; cut, it holds them back or breaks; mended, they come late."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from kafka_server import free_ports

from cluster.links import Cut, Links

PATIENCE_S = 20.0
QUIET_S = 0.2
ONE, TWO = 1, 2


class Wire:
    """A connection from broker 1, which this process is, to broker 2."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.listener = socket.create_server(("127.0.0.1", 0))
        (self.port,) = free_ports(1)
        links.lay(TWO, self.port, self.listener.getsockname()[1], [ONE])
        self.near = self.connect()
        self.far, _ = self.listener.accept()
        self.far.settimeout(PATIENCE_S)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def close(self) -> None:
        for each in (self.near, self.far, self.listener):
            each.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    links = Links(lambda _: os.getpid())
    made = Wire(links)
    yield made
    made.close()
    links.close()


def arrives(data: bytes, source: socket.socket, target: socket.socket) -> bool:
    """Whether bytes are there after a while, sent or on their way."""
    source.sendall(data)
    target.settimeout(QUIET_S)
    try:
        return target.recv(100) == data
    except TimeoutError:
        return False
    finally:
        target.settimeout(PATIENCE_S)


def is_torn(end: socket.socket) -> bool:
    try:
        return end.recv(1) == b""
    except ConnectionError:
        return True


def exchange(data: bytes, source: socket.socket, target: socket.socket) -> None:
    source.sendall(data)
    assert target.recv(100) == data


def test_it_carries_both_ways(wire: Wire) -> None:
    exchange(b"there", wire.near, wire.far)
    exchange(b"and back", wire.far, wire.near)


def test_cut_one_way_it_carries_the_other_way(wire: Wire) -> None:
    wire.links.cut([(ONE, TWO)], Cut.SILENT)
    exchange(b"back", wire.far, wire.near)
    assert not arrives(b"late", wire.near, wire.far)
    wire.links.mend()
    assert wire.far.recv(100) == b"late"
    wire.links.cut([(TWO, ONE)], Cut.SILENT)
    exchange(b"there", wire.near, wire.far)
    assert not arrives(b"late", wire.far, wire.near)


def test_a_new_connection_waits_while_it_is_cut(wire: Wire) -> None:
    wire.links.cut([(TWO, ONE)], Cut.SILENT)
    with wire.connect() as near:
        near.sendall(b"hello")
        wire.listener.settimeout(QUIET_S)
        with pytest.raises(TimeoutError):
            wire.listener.accept()
        wire.listener.settimeout(PATIENCE_S)
        wire.links.mend([(TWO, ONE)])
        with wire.listener.accept()[0] as far:
            assert far.recv(100) == b"hello"


def test_torn_every_connection_breaks_and_new_ones_with_them(wire: Wire) -> None:
    exchange(b"there", wire.near, wire.far)
    wire.links.cut([(ONE, TWO)], Cut.TORN)
    assert is_torn(wire.near) and is_torn(wire.far)
    with wire.connect() as near:
        assert is_torn(near)
    wire.links.mend()
    with wire.connect() as near, wire.listener.accept()[0] as far:
        exchange(b"again", near, far)


def test_other_wires_are_not_concerned(wire: Wire) -> None:
    wire.links.cut([(ONE, 3), (3, TWO)], Cut.TORN)
    exchange(b"there", wire.near, wire.far)
