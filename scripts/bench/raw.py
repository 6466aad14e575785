"""A few Kafka requests by hand, for what happens once per benchmark: no client library decides
here how long to wait or when to try again.

Only versions with plain (not flexible) encoding are used, all of which Kafka 3.9 and 4.x serve.
"""

import socket
import struct
import time
from collections.abc import Mapping

API_VERSIONS, METADATA, CREATE_TOPICS, DELETE_TOPICS = 18, 3, 19, 20


class RawError(Exception):
    """The broker answered an error code, or closed the connection."""


class Connection:
    """One blocking connection; `call` returns the answer's body."""

    def __init__(self, address: str, timeout_seconds: float = 120) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout_seconds)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def call(self, api_key: int, version: int, body: bytes) -> bytes:
        frame = struct.pack(">hhi", api_key, version, 1) + _string("bench") + body
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)[4:]

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            piece = self._socket.recv(size - len(received))
            if not piece:
                raise RawError("the broker closed the connection")
            received += piece
        return bytes(received)


def answers(address: str) -> bool:
    """Whether the broker answers ApiVersions now."""
    try:
        with Connection(address, 5) as connection:
            connection.call(API_VERSIONS, 0, b"")
    except (OSError, RawError):
        return False
    return True


def create_topics(address: str, topics: Mapping[str, int], **configs: str) -> None:
    """Creates topics (name -> partition count) in one CreateTopics v4 and waits for leaders."""
    settings = struct.pack(">i", len(configs))
    for name, value in configs.items():
        settings += _string(name.replace("_", ".")) + _string(value)
    body = struct.pack(">i", len(topics))
    for topic, partitions in topics.items():
        body += _string(topic) + struct.pack(">ihi", partitions, 1, 0) + settings
    with Connection(address) as connection:
        answer = connection.call(CREATE_TOPICS, 4, body + struct.pack(">i?", 120_000, False))
    _check_topics(answer[4:])
    wait_for_leaders(address, list(topics), sum(topics.values()))


def wait_for_leaders(address: str, topics: list[str], partitions: int) -> None:
    """Returns once so many partitions of the topics have a leader."""
    deadline = time.monotonic() + 300
    with Connection(address) as connection:
        while _led_partitions(connection, topics) < partitions:
            if time.monotonic() > deadline:
                raise RawError(f"after 300 s not all of {partitions} partitions have a leader")
            time.sleep(0.005)


def delete_topic(address: str, topic: str) -> None:
    body = struct.pack(">i", 1) + _string(topic) + struct.pack(">i", 60_000)
    with Connection(address) as connection:
        connection.call(DELETE_TOPICS, 1, body)


def _check_topics(answer: bytes) -> None:
    """Reads [name, error_code, error_message] and refuses the first error."""
    reader = _Reader(answer)
    for _ in range(reader.number(">i")):
        name, code, message = reader.string(), reader.number(">h"), reader.string()
        if code:
            raise RawError(f"creating {name}: error {code} {message}")


def _led_partitions(connection: Connection, topics: list[str]) -> int:
    """Counts partitions with a leader in a Metadata v1 answer."""
    body = struct.pack(">i", len(topics)) + b"".join(map(_string, topics))
    reader = _Reader(connection.call(METADATA, 1, body))
    for _ in range(reader.number(">i")):
        reader.number(">i"), reader.string(), reader.number(">i"), reader.string()
    reader.number(">i")
    led = 0
    for _ in range(reader.number(">i")):
        reader.number(">h"), reader.string(), reader.number(">?")
        for _ in range(reader.number(">i")):
            code, _, leader = reader.number(">h"), reader.number(">i"), reader.number(">i")
            led += code == 0 and leader >= 0
            reader.skip_numbers()  # replicas
            reader.skip_numbers()  # in-sync replicas
    return led


class _Reader:
    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._body, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def string(self) -> str:
        size = max(self.number(">h"), 0)
        self._at += size
        return self._body[self._at - size : self._at].decode()

    def skip_numbers(self) -> None:
        count = self.number(">i")
        self._at += 4 * count


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
