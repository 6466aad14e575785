"""What a client test expects to read, in the shape that read events are brought to."""

from __future__ import annotations

import base64
import time
from typing import TypeAlias

import contract
from clients import Event

Comparable: TypeAlias = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def comparable(event: Event) -> Comparable:
    """Key, value and headers of a `record` event."""
    headers = tuple((name, _bytes(value)) for name, value in event["headers"])
    return _bytes(event["key"]), _bytes(event["value"]), headers


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def series(prefix: str, count: int, *, with_headers: bool = True) -> list[Comparable]:
    """What `comparable` gives for the first records of a prefix."""
    records = [contract.record_at(prefix, index) for index in range(count)]
    return [
        (record.key, record.value, _headers(record) if with_headers else ()) for record in records
    ]


def _headers(record: contract.Record) -> tuple[tuple[str, bytes | None], ...]:
    return tuple(record.headers)


def an_hour_ago_ms() -> int:
    """A record timestamp that is neither now nor so old that retention takes it."""
    return int(time.time() * 1000) - 3_600_000
