"""Fills topics fast: batches of any size, built once, straight over the wire."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.wire.connection import ClientConnection
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

VERSION = 7
REQUEST_BYTES = 16 << 20  # well below socket.request.max.bytes
TIMEOUT_S = 60


def batch_of(sizes: Sequence[int], timestamp_ms: int) -> bytes:
    """A batch with a record for each size of a value."""
    records = [
        Record(offset=index, timestamp=timestamp_ms, key=None, value=b"v" * size)
        for index, size in enumerate(sizes)
    ]
    return bytes(build_batch(records))


class RawProducer:
    """One connection, one request at a time."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.partition(":")
        self._sock = socket.create_connection((host, int(port)), TIMEOUT_S)
        self._wire = ClientConnection("raw-producer")

    def append(
        self, topic: str, partitions: int, batch: bytes, transactional_id: str | None = None
    ) -> None:
        """Append the batch to each of the first partitions, many in one request."""
        at_once = max(1, REQUEST_BYTES // len(batch))
        for first in range(0, partitions, at_once):
            numbers = range(first, min(first + at_once, partitions))
            data = [PartitionProduceData(index=n, records=batch) for n in numbers]
            wanted = [TopicProduceData(name=topic, partitions=data)]
            request = ProduceRequest(acks=-1, timeout_ms=TIMEOUT_S * 1000, topics=wanted)
            request.transactional_id = transactional_id
            self._send(request)

    def _send(self, request: ProduceRequest) -> None:
        self._sock.sendall(self._wire.send(request, VERSION, answered=True))
        while (found := self._wire.next_response()) is None:
            self._wire.receive_data(self._sock.recv(1 << 16))
        assert not isinstance(found, bytes) and isinstance(found[1], ProduceResponse)
        (topic,) = found[1].responses
        assert {each.error_code for each in topic.partition_responses} == {0}

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()
