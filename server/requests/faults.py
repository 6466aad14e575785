"""Faults: what a test wants to go wrong, matched request by request.

A fault says which requests it means (API, version, client id, topic, partition, a predicate,
the n-th of them and how many) and what happens to them:

    error       answered with a code, the handler never sees it
    delay       handled after so many milliseconds
    drop        never answered; the connection stays
    close       the connection is closed instead of an answer, unhandled
    close_after handled, and the connection is closed instead of an answer (a lost reply)
    truncate    handled, half of the answer is sent, then the connection is closed
    throttle    handled, the answer says throttle_time_ms, and the connection is muted that long

The same requests can be counted without harm: a fault with no action only has `hits`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from barnabas.server.network.outcomes import Close
from barnabas.server.requests.services import Services
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Encoded
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.header import RequestHeader
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.schema import Message, Struct
from barnabas.wire.uuids import Uuid

Action = Literal["none", "error", "delay", "drop", "close", "close_after", "truncate", "throttle"]
_TOPIC_NAMES = ("topic", "topic_name", "name")
_PARTITIONS = ("partition", "partition_index", "index", "partition_id")


@dataclass(slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. What is None matches everything.

    `skip` requests that match pass unharmed first; then `times` of them are hit (None: all).
    """

    action: Action = "none"
    api: ApiKey | None = None
    version: int | None = None
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    predicate: Callable[[Message], bool] | None = None
    skip: int = 0
    times: int | None = None
    error: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
    delay_ms: float = 0
    throttle_ms: int = 0
    number: int = field(default=0, init=False)  # among all that were ever in force, from 1
    seen: int = field(default=0, init=False)
    hits: int = field(default=0, init=False)

    def matches(self, header: RequestHeader, request: Message, broker: Services) -> bool:
        """Whether the request is one this fault means, whatever its turn."""
        return (
            (self.api is None or header.api_key == self.api)
            and (self.version is None or header.api_version == self.version)
            and (self.client_id is None or header.client_id == self.client_id)
            and self._names(request, broker)
            and (self.predicate is None or self.predicate(request))
        )

    def take_turn(self) -> bool:
        """Count a matching request; whether this one is hit."""
        self.seen += 1
        if self.seen <= self.skip or (self.times is not None and self.hits >= self.times):
            return False
        self.hits += 1
        return True

    @property
    def is_before_the_handler(self) -> bool:
        """Whether it takes a request away from its handler."""
        return self.action in ("error", "delay", "drop", "close")

    def spoil(self, encoded: Encoded) -> Encoded | Close:
        """The answer, or the end of the connection with nothing or half of it."""
        if self.action == "close_after":
            return Close("a fault closed it")
        if self.action == "truncate":
            whole = bytes(encoded)
            return Close("a fault closed it", whole[: len(whole) // 2])
        return encoded

    def _names(self, request: Message, broker: Services) -> bool:
        if self.topic is None and self.partition is None:
            return True
        found = topic_partitions(request, broker.metadata.name_of)
        if isinstance(request, FetchRequest) and request.session_epoch > 0:
            sessions = broker.fetch_sessions
            found = chain(found, sessions.partitions_of(request.session_id))
        return any(
            (self.topic is None or topic == self.topic)
            and (self.partition is None or partition in (None, self.partition))
            for topic, partition in found
        )


class Faults:
    """The faults of one broker; asked in the order they were added, the first that hits acts."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._ever: dict[int, Fault] = {}

    def __iter__(self) -> Iterator[Fault]:
        return iter(tuple(self._faults))

    def __len__(self) -> int:
        return len(self._faults)

    def add(self, fault: Fault) -> Fault:
        """Put a fault in force."""
        fault.number = len(self._ever) + 1
        self._ever[fault.number] = fault
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Take a fault back; harmless when it is gone already."""
        self._faults = [each for each in self._faults if each is not fault]

    def find(self, number: int) -> Fault | None:
        """The fault with that number; it keeps its counts when it has been taken back."""
        return self._ever.get(number)

    def clear(self) -> None:
        """Let everything go right."""
        self._faults.clear()

    def hit(self, header: RequestHeader, request: Message, broker: Services) -> Fault | None:
        """The fault that this request meets, counted."""
        for fault in self._faults:
            if not fault.matches(header, request, broker) or not fault.take_turn():
                continue
            if fault.action != "none":
                return fault
        return None


def topic_partitions(
    request: Message, name_of: Callable[[Uuid], str | None]
) -> Iterator[tuple[str, int | None]]:
    """Every (topic, partition) that a request names; None for a topic named as a whole.

    An incremental fetch names only what has changed; the rest is in its session.
    """
    yield from _walk(request, None, name_of)


def _walk(
    struct: Struct, topic: str | None, name_of: Callable[[Uuid], str | None]
) -> Iterator[tuple[str, int | None]]:
    own = _topic_of(struct, name_of) or topic
    partition = next((getattr(struct, n) for n in _PARTITIONS if hasattr(struct, n)), None)
    if own is not None and partition is not None:
        yield own, partition
        return
    named = False
    for each in struct.FIELDS:
        value = getattr(struct, each.name)
        for item in value if isinstance(value, list) else ():
            for found in _walk_item(item, own, each.name, name_of):
                named = True
                yield found
    if not named and own is not None and own != topic:
        yield own, None


def _walk_item(
    item: Any, topic: str | None, field_name: str, name_of: Callable[[Uuid], str | None]
) -> Iterator[tuple[str, int | None]]:
    if isinstance(item, Struct):
        yield from _walk(item, topic, name_of)
    elif isinstance(item, int) and topic is not None and "partition" in field_name:
        yield topic, item
    elif isinstance(item, str) and "topic" in field_name:
        yield item, None


def _topic_of(struct: Struct, name_of: Callable[[Uuid], str | None]) -> str | None:
    """The topic a struct names, by name or by id; a mere `name` is one in a topic's struct only."""
    if isinstance(struct, Message):
        return None
    for attribute in _TOPIC_NAMES if "Topic" in type(struct).__name__ else _TOPIC_NAMES[:2]:
        value = getattr(struct, attribute, None)
        if isinstance(value, str) and value:
            return value
    topic_id = getattr(struct, "topic_id", None)
    return name_of(topic_id) if topic_id else None
