"""What a connection has to send: in order, no more of files at a time than is fair."""

import os
import socket
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from barnabas.server.network.channel import PlainChannel
from barnabas.server.network.outbox import FAIR_FILE_BYTES, SMALL_BYTES, Outbox
from barnabas.wire.connection import Encoded
from tests.server.slices import Slice

FILE_BYTES = 20 * FAIR_FILE_BYTES


class Reader:
    """Reads all that comes, in a thread that keeps pace."""

    def __init__(self, sock: socket.socket) -> None:
        self.received = bytearray()
        self._sock = sock
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while data := self._sock.recv(1 << 20):
            self.received += data

    def all(self, ours: socket.socket) -> bytes:
        ours.close()
        self._thread.join()
        return bytes(self.received)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(opened, os.urandom(FILE_BYTES))
    yield opened
    os.close(opened)


Pair = tuple[socket.socket, socket.socket]


@pytest.mark.parametrize("size", [10, SMALL_BYTES - 9, SMALL_BYTES - 8, 3 * SMALL_BYTES])
def test_heads_and_slices_leave_in_order(pair: Pair, fd: int, size: int) -> None:
    outbox, reader = Outbox(PlainChannel(pair[0])), Reader(pair[1])
    cuts = [(2, Slice(fd, 5, size)), (2, Slice(fd, 0, 0)), (4, Slice(fd, 100, 3))]
    outbox.put(Encoded(bytearray(b"abcdef"), list(cuts)))
    outbox.put(Encoded(bytearray(b"next"), []))
    assert outbox.unsent_bytes == 13 + size
    while not outbox.flush():
        pass
    assert outbox.unsent_bytes == 0
    expected = b"ab" + os.pread(fd, size, 5) + b"cd" + os.pread(fd, 3, 100) + b"ef" + b"next"
    assert reader.all(pair[0]) == expected


def test_a_small_answer_leaves_by_one_call(pair: Pair, fd: int) -> None:
    """On a socket that keeps messages apart each call would be seen."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        outbox = Outbox(PlainChannel(ours))
        outbox.put(Encoded(bytearray(b"<>"), [(1, Slice(fd, 0, 100))]))
        assert outbox.flush()
        assert theirs.recv(1000) == b"<" + os.pread(fd, 100, 0) + b">"


def test_one_flush_sends_a_fair_share_even_if_the_reader_keeps_pace(pair: Pair, fd: int) -> None:
    outbox, reader = Outbox(PlainChannel(pair[0])), Reader(pair[1])
    outbox.put(Encoded(bytearray(b""), [(0, Slice(fd, 0, FILE_BYTES))]))
    left = [outbox.unsent_bytes]
    while not outbox.flush():
        left.append(outbox.unsent_bytes)
    left.append(0)
    shares = [before - after for before, after in pairwise(left)]
    assert max(shares) < 2 * FAIR_FILE_BYTES
    assert sum(shares) == FILE_BYTES
    assert reader.all(pair[0]) == os.pread(fd, FILE_BYTES, 0)


def test_a_file_that_became_shorter_is_an_error(pair: Pair, fd: int) -> None:
    outbox = Outbox(PlainChannel(pair[0]))
    outbox.put(Encoded(bytearray(b""), [(0, Slice(fd, FILE_BYTES, 10))]))
    with pytest.raises(OSError, match="shorter"):
        outbox.flush()
