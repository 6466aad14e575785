"""Every number and every text of every request, at its worst: refused in Kafka's words, or served.

Generated from the messages themselves. Each served API is asked something sensible at its oldest
and newest version, and at those that bring a field or lose one; then with one field changed to the
least, the largest, -1 or 0. Whatever the answer is, it is no UNKNOWN_SERVER_ERROR, it comes, and
nothing is said of an exception in the broker's log.
"""

from collections.abc import Iterator
from typing import Any, Self

import pytest

from barnabas.server.handlers import HANDLERS
from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.schema import Message, Struct
from tests.server.raw_client import RawClient
from tests.server.sensible_requests import (
    SENSIBLE,
    SESSION_MS,
    Place,
    World,
    extremes_of,
    numbers_in,
    request_of,
    texts_in,
)

TEXTS = ["", ".", "_", "x" * 249, "x" * 250, "é" * 16_383, "\0\n\u2028"]


CONTROL = {
    ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN,
}  # fmt: skip
SETTINGS = {
    "produce.validation": "fast",
    "group.min.session.timeout.ms": SESSION_MS,
    "log.retention.ms": -1,
}


@pytest.fixture(scope="module")
def common_world() -> Iterator[World]:
    """A broker that everything is asked of that clients ask."""
    with Broker(SETTINGS) as broker:
        yield World(broker)


@pytest.fixture
def world(common_world: World, key: ApiKey) -> Iterator[World]:
    """That, or for what controllers say, which is believed, one of its own."""
    if key not in CONTROL:
        yield common_world
        return
    with Broker(SETTINGS) as broker:
        yield World(broker)


def versions_of(key: ApiKey) -> list[int]:
    """The oldest, the newest, and each that has another set of fields than its neighbours."""
    served = HANDLERS[key]
    found = {served.first, served.last}
    waiting: list[Any] = [request_class(key)]
    while waiting:
        for each in waiting.pop().FIELDS:
            found |= {each.since, served.last if each.until is None else each.until}
            element = getattr(each.kind, "element", each.kind)
            waiting += [element.cls] if hasattr(element, "cls") else []
    return sorted(version for version in found if served.first <= version <= served.last)


CASES = [(key, version) for key in HANDLERS for version in versions_of(key)]


def test_there_is_a_sensible_request_of_every_api() -> None:
    assert SENSIBLE.keys() == HANDLERS.keys()


@pytest.mark.parametrize(("key", "version"), CASES, ids=lambda each: getattr(each, "name", each))
def test_numbers(world: World, key: ApiKey, version: int) -> None:
    sample = request_of(world, key, version)
    with Asker(world, key, version) as asker:
        for index, place in enumerate(numbers_in(sample, version)):
            for value in extremes_of(place):
                request = request_of(world, key, version)
                list(numbers_in(request, version))[index].set(value)
                asker.ask(request, place, value)
    asker.judge()


@pytest.mark.parametrize(("key", "version"), CASES, ids=lambda each: getattr(each, "name", each))
def test_texts(world: World, key: ApiKey, version: int) -> None:
    sample = request_of(world, key, version)
    with Asker(world, key, version) as asker:
        for index, place in enumerate(texts_in(sample, version)):
            for value in TEXTS:
                request = request_of(world, key, version)
                list(texts_in(request, version))[index].set(value)
                asker.ask(request, place, value)
    asker.judge()


class Asker:
    """Asks, and remembers what went wrong."""

    def __init__(self, world: World, key: ApiKey, version: int) -> None:
        self._world, self._key, self._version = world, key, version
        self._faults: list[str] = []
        self._client = RawClient(world.broker.port)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.sock.close()

    def ask(self, request: Message, place: Place, value: object) -> None:
        """Send the request with its changed field; note if the answer is none."""
        what = f"{place.path}={str(value)[:40]!r}"
        answered = getattr(request, "acks", -1) != 0
        try:
            self._client.send(request, self._version, answered=answered)
            answer = self._client.receive() if answered else None
        except (TimeoutError, ConnectionError) as error:
            self._faults.append(f"{what}: {error!r}")
            self._client.sock.close()
            self._client = RawClient(self._world.broker.port)
            return
        if ErrorCode.UNKNOWN_SERVER_ERROR in codes_in(answer):
            self._faults.append(f"{what}: {answer}")

    def judge(self) -> None:
        """The sensible request is still answered, and nothing has gone wrong."""
        with RawClient(self._world.broker.port) as client:
            request = request_of(self._world, self._key, self._version)
            answer = client.call(request, self._version)
        assert ErrorCode.UNKNOWN_SERVER_ERROR not in codes_in(answer)
        assert self._faults == []


def codes_in(answer: object) -> set[int]:
    """All error codes of an answer."""
    found: set[int] = set()
    waiting: list[Any] = [answer]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, Struct):
            found |= {getattr(each, f.name) for f in each.FIELDS if f.name == "error_code"}
            waiting += [getattr(each, f.name) for f in each.FIELDS]
    return found
