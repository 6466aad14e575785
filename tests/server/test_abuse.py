"""A broker under abuse stays within its memory, answers others and logs one line each.

The broker is a process of its own, so that its memory is what the kernel says.
"""

import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, make_batch, produce

MEGABYTE = 1 << 20
STATED_MEGABYTES = 80
VERSIONS = ApiVersionsRequest(client_software_name="t", client_software_version="1")


class Victim:
    """A broker process."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.log = folder / "stderr"
        command = [sys.executable, "-m", "barnabas", "start", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(folder / "data"), "--set", "max.connections.per.ip=5000"]
        for setting in ("num.partitions=1", *settings):
            command += ["--set", setting]
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        self.port = int(line.split()[2].rsplit(":", 1)[1])

    @property
    def megabytes(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / MEGABYTE

    def answers(self) -> bool:
        with RawClient(self.port) as client:
            return bool(client.call(VERSIONS, 3).error_code == 0)

    def tracebacks(self) -> int:
        return self.log.read_text().count("Traceback")

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    made = Victim(tmp_path)
    yield made
    made.stop()


def test_random_bytes(victim: Victim) -> None:
    dice = random.Random(7)
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", victim.port), 10) as sock:
            body = dice.randbytes(dice.randrange(200))
            if dice.random() < 0.7:
                body = struct.pack(">i", len(body)) + body
            sock.sendall(body)
    assert victim.answers()
    assert victim.tracebacks() == 0


def test_requests_with_random_bodies(victim: Victim) -> None:
    dice = random.Random(8)
    for key in range(80):
        for version in range(0, 14, 3):
            with RawClient(victim.port) as client:
                head = struct.pack(">hhih", key, version, 1, -1)
                client.send_frame(head + dice.randbytes(dice.randrange(60)))
    assert victim.answers()
    assert victim.tracebacks() == 0


def test_half_frames_and_huge_lengths_cost_nothing(victim: Victim) -> None:
    before = victim.megabytes
    held = []
    for _ in range(200):
        sock = socket.create_connection(("127.0.0.1", victim.port), 10)
        sock.sendall(struct.pack(">i", 100_000_000) + b"\0\0\0\x09")
        held.append(sock)
    assert victim.answers()
    assert victim.megabytes - before < 30
    for sock in held:
        sock.close()


def test_two_thousand_connections(victim: Victim) -> None:
    before = victim.megabytes
    held = [socket.create_connection(("127.0.0.1", victim.port), 10) for _ in range(2_000)]
    assert victim.answers()
    assert victim.megabytes - before < 60
    for sock in held:
        sock.close()
    assert victim.answers()


def test_a_producer_that_never_reads_and_a_consumer_that_never_reads(victim: Victim) -> None:
    with RawClient(victim.port) as writer:
        produce(writer, "t", make_batch(b"x"))
        wait_for_topic(writer)
        for _ in range(30):
            produce(writer, "t", make_batch(b"x" * 500_000))
    deaf = [RawClient(victim.port) for _ in range(20)]
    for client in deaf:
        client.sock.setblocking(False)
        try:
            for _ in range(200):
                frame = client.wire.send(fetch_request("t", 0, max_bytes=10 * MEGABYTE), 11)
                client.sock.send(frame)
        except BlockingIOError:
            pass
    assert victim.answers()
    assert victim.megabytes < STATED_MEGABYTES
    for client in deaf:
        client.sock.close()
    assert victim.tracebacks() == 0


def test_large_requests_that_never_end_stay_within_their_limit(tmp_path: Path) -> None:
    """Twelve times 10 MB are announced and sent but for the last byte; 20 MB are allowed."""
    limits = (
        f"socket.request.max.bytes={10 * MEGABYTE}",
        f"queued.max.request.bytes={20 * MEGABYTE}",
    )
    victim = Victim(tmp_path, *limits)
    clients = [RawClient(victim.port) for _ in range(12)]
    try:
        before = victim.megabytes
        head = struct.pack(">ihhih", 10 * MEGABYTE - 4, 0, 7, 1, -1)
        body = head + bytes(10 * MEGABYTE - len(head) - 1)
        left = {client: memoryview(body) for client in clients}
        deadline = time.monotonic() + 60
        # Those that are let in are read to their ends, however slowly.
        while select.select([], [client.sock for client in left], [], 1)[1] or len(left) > 10:
            assert time.monotonic() < deadline
            for client in tuple(left):
                send_some(client, left)
        assert 18 < victim.megabytes - before < 45
        assert len(left) == 10
        assert victim.answers()
    finally:
        for client in clients:
            client.sock.close()
        victim.stop()
    assert victim.tracebacks() == 0


def send_some(client: RawClient, left: dict[RawClient, memoryview]) -> None:
    """Send what a client's socket takes; one with nothing left is done."""
    client.sock.setblocking(False)
    try:
        left[client] = left[client][client.sock.send(left[client]) :]
    except BlockingIOError:
        return
    if not left[client]:
        del left[client]


def wait_for_topic(client: RawClient) -> None:
    """The first produce made nothing: topics come with Metadata."""
    from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

    for _ in range(50):
        answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 5)
        if answer.topics[0].error_code == 0:
            return
    raise AssertionError("the topic was not created")
