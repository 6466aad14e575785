"""A few Kafka requests by hand, for what happens once per benchmark: no client library decides
here how long to wait or when to try again.

Only versions with plain (not flexible) encoding are used, all of which Kafka 3.9 and 4.x serve.
"""

import socket
import struct
import time
from collections.abc import Mapping

PRODUCE, LIST_OFFSETS, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS = 0, 2, 18, 19, 20


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
        frame = struct.pack(">hhi", api_key, version, 1) + string("bench") + body
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
    """Creates topics (name -> partition count) in one CreateTopics v4, then waits for them."""
    settings = struct.pack(">i", len(configs))
    for name, value in configs.items():
        settings += string(name.replace("_", ".")) + string(value)
    body = struct.pack(">i", len(topics))
    for topic, partitions in topics.items():
        body += string(topic) + struct.pack(">ihi", partitions, 1, 0) + settings
    with Connection(address) as connection:
        answer = connection.call(CREATE_TOPICS, 4, body + struct.pack(">i?", 120_000, False))
    _check_topics(answer[4:])
    wait_until_served(address, topics)


def wait_until_served(address: str, topics: Mapping[str, int]) -> None:
    """Returns once every partition answers ListOffsets without an error.

    Metadata is no proof: Kafka names the leader of a new partition a moment before the leader
    serves it (error 6 until then).
    """
    deadline = time.monotonic() + 300
    partitions = sum(topics.values())
    with Connection(address) as connection:
        while _served_partitions(connection, topics) < partitions:
            if time.monotonic() > deadline:
                raise RawError(f"after 300 s not all of {partitions} partitions are served")
            time.sleep(0.002 + partitions * 1e-5)


def produce_to_all(address: str, topics: Mapping[str, int], batch: bytes) -> None:
    """Appends a batch to every partition (Produce v3, acks=all), a topic at a time."""
    with Connection(address) as connection:
        for topic, partitions in topics.items():
            body = struct.pack(">hhii", -1, -1, 120_000, 1) + string(topic)
            body += struct.pack(">i", partitions)
            for index in range(partitions):
                body += struct.pack(">ii", index, len(batch)) + batch
            _check_appended(connection.call(PRODUCE, 3, body))


def delete_topic(address: str, topic: str) -> None:
    body = struct.pack(">i", 1) + string(topic) + struct.pack(">i", 60_000)
    with Connection(address) as connection:
        connection.call(DELETE_TOPICS, 1, body)


def _check_topics(answer: bytes) -> None:
    """Reads [name, error_code, error_message] and refuses the first error."""
    reader = Reader(answer)
    for _ in range(reader.number(">i")):
        name, code, message = reader.string(), reader.number(">h"), reader.string()
        if code:
            raise RawError(f"creating {name}: error {code} {message}")


def _check_appended(answer: bytes) -> None:
    """Reads [topic, [partition, error_code, ...]] and refuses the first error."""
    reader = Reader(answer)
    for _ in range(reader.number(">i")):
        topic = reader.string()
        for _ in range(reader.number(">i")):
            index, code = reader.number(">i"), reader.number(">h")
            if code:
                raise RawError(f"producing to {topic}-{index}: error {code}")
            reader.number(">q")  # base offset
            reader.number(">q")  # log append time


def _served_partitions(connection: Connection, topics: Mapping[str, int]) -> int:
    """Asks for the end of every partition (ListOffsets v1) and counts answers without error."""
    body = struct.pack(">ii", -1, len(topics))
    for topic, partitions in topics.items():
        wanted = b"".join(struct.pack(">iq", index, -1) for index in range(partitions))
        body += string(topic) + struct.pack(">i", partitions) + wanted
    reader = Reader(connection.call(LIST_OFFSETS, 1, body))
    served = 0
    for _ in range(reader.number(">i")):
        reader.string()
        for _ in range(reader.number(">i")):
            reader.number(">i")
            served += reader.number(">h") == 0
            reader.number(">q")  # timestamp
            reader.number(">q")  # offset
    return served


class Reader:
    """Takes an answer's body apart from its start on."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def number(self, form: str) -> int:
        """A number of a struct format."""
        (value,) = struct.unpack_from(form, self._body, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def string(self) -> str:
        """A string; a null one is empty."""
        size = max(self.number(">h"), 0)
        self._at += size
        return self._body[self._at - size : self._at].decode()


def string(text: str) -> bytes:
    """With its length before it."""
    return struct.pack(">h", len(text)) + text.encode()
