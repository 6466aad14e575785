"""What clients send wrongly is said, and cannot fill a disk."""

import io
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.server.observing.logs import Logs
from barnabas.server.observing.rare_warnings import (
    AGAIN_AFTER_MS,
    MOST_TOLD_APART,
    RareWarnings,
)


class Said:
    """A log that is looked at, and the time."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.now_ms = 0.0
        log = Logs("info", self.stream).room("broker")
        self.warnings = RareWarnings(log, lambda: self.now_ms)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_the_same_is_said_once_in_a_while_and_counted_meanwhile() -> None:
    said = Said()
    for size in range(1_000):
        said.warnings.warn("closed", "10.0.0.1", f"a frame of {size} bytes")
    assert len(said.lines) == 1
    said.warnings.warn("closed", "10.0.0.2", "a frame of 7 bytes")
    said.warnings.warn("closed", "10.0.0.1", "API key 999 is not served")
    assert len(said.lines) == 3
    said.now_ms = AGAIN_AFTER_MS
    said.warnings.warn("closed", "10.0.0.1", "a frame of 7 bytes")
    assert len(said.lines) == 4
    assert said.lines[-1].endswith("left_out=999")


def test_a_thousand_different_ones_are_bounded_and_room_comes_back() -> None:
    said = Said()
    for number in range(1_000):
        said.warnings.warn("closed", f"10.0.0.{number}", "why")
    assert len(said.lines) == MOST_TOLD_APART
    said.now_ms = AGAIN_AFTER_MS
    said.warnings.warn("closed", "10.1.0.1", "why")
    assert len(said.lines) == MOST_TOLD_APART + 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "looks like HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "looks like TLS"),
        (struct.pack(">i", 2**31 - 1), "socket.request.max.bytes"),
        (struct.pack(">ihhih", 10, 999, 0, 1, 0), "API key 999 is not served"),
        (struct.pack(">ihhihb", 11, 3, 99, 1, 0, 0), "METADATA version 99 is not served"),
        (struct.pack(">ihhih", 10, 3, 1, 1, 0), "the client sent"),
    ],
)
def test_what_a_client_sends_wrongly_is_said_with_the_reason(
    tmp_path: Path, data: bytes, why: str
) -> None:
    arguments = ["start", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as started:  # fmt: skip
        assert started.stdout is not None and started.stderr is not None
        host, _, port = started.stdout.readline().split()[2].rpartition(":")
        for _ in range(3):
            with socket.create_connection((host, int(port)), 30) as client:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                assert client.recv(1) == b""
        started.terminate()
        lines = [line for line in started.stderr if " WARN " in line]
    (line,) = lines
    assert why in line and "closed a client's connection" in line
