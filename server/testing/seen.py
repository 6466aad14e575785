"""The requests that a broker has answered, decoded, with their answers.

Only the latest are kept, and without records: those of a request are a view into a frame that
is gone by then, those of an answer a slice of a file. They read as None.
"""

import asyncio
import copy
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from barnabas.server.testing.message_json import from_json, to_json
from barnabas.wire.api import ApiKey, request_class, response_class
from barnabas.wire.arrays import Array
from barnabas.wire.header import RequestHeader
from barnabas.wire.schema import Message, Struct
from barnabas.wire.strings import RecordsCodec
from barnabas.wire.structs import StructKind

KEPT = 10_000
S = TypeVar("S", bound=Struct)


class Seen(NamedTuple):
    """A request and what it was answered; `response` is None where nothing is (acks=0).

    `number` counts a broker's requests from 1.
    """

    number: int
    api: ApiKey
    version: int
    client_id: str | None
    request: Message
    response: Message | None


class SeenRequests:
    """The latest requests, oldest first; lives on the broker's loop."""

    def __init__(self) -> None:
        self._seen: deque[Seen] = deque(maxlen=KEPT)
        self._count = 0
        self._waiting: list[tuple[ApiKey | None, asyncio.Future[None]]] = []

    def observe(self, header: RequestHeader, request: Message, response: Message | None) -> None:
        """A request has been answered (the dispatcher's observer)."""
        self._count += 1
        api = ApiKey(header.api_key)
        seen = Seen(
            self._count,
            api,
            header.api_version,
            header.client_id,
            without_records(request),
            None if response is None else without_records(response),
        )
        self._seen.append(seen)
        for wanted, woken in self._waiting:
            if wanted in (None, api) and not woken.done():
                woken.set_result(None)

    def clear(self) -> None:
        """Forget what was seen."""
        self._seen.clear()

    def of(self, api: ApiKey | None, client_id: str | None = None, after: int = 0) -> list[Seen]:
        """The requests of an API (None: all), of one client, later than number `after`."""
        return [
            seen
            for seen in self._seen
            if (api is None or seen.api is api)
            and (client_id is None or seen.client_id == client_id)
            and seen.number > after
        ]

    async def wait_for(
        self, api: ApiKey | None, client_id: str | None, after: int, count: int, timeout_ms: float
    ) -> list[Seen]:
        """Wait until there are `count` of them; fewer are returned when the time is over."""
        deadline = time.monotonic() + timeout_ms / 1000
        while len(found := self.of(api, client_id, after)) < count:
            if not await self._next(api, deadline - time.monotonic()):
                break
        return found

    async def _next(self, api: ApiKey | None, timeout_s: float) -> bool:
        """Wait for one more request of an API; whether it came in time."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (api, woken)
        self._waiting.append(entry)
        try:
            done, _ = await asyncio.wait([woken], timeout=timeout_s)
        finally:
            self._waiting.remove(entry)
        return bool(done)


def seen_to_json(seen: Seen) -> dict[str, object]:
    """What `json.dumps` takes for a request and its answer."""
    return {
        "number": seen.number,
        "api": seen.api.name,
        "version": seen.version,
        "client_id": seen.client_id,
        "request": to_json(seen.request),
        "response": None if seen.response is None else to_json(seen.response),
    }


def seen_from_json(value: Mapping[str, Any]) -> Seen:
    """What `seen_to_json` made `value` of."""
    api = ApiKey[value["api"]]
    answer = value["response"]
    return Seen(
        value["number"],
        api,
        value["version"],
        value["client_id"],
        from_json(request_class(api), value["request"]),
        None if answer is None else from_json(response_class(api), answer),
    )


def without_records(message: S) -> S:
    """The message, or a copy of what leads to records, without them."""
    plan = _plan_of(type(message))
    if not plan:
        return message
    slim = copy.copy(message)
    for name, holds_structs in plan:
        value = getattr(message, name)
        if holds_structs and value is not None:
            setattr(slim, name, [without_records(each) for each in value])
        else:
            setattr(slim, name, None)
    return slim


_plans: dict[type[Struct], tuple[tuple[str, bool], ...]] = {}


def _plan_of(cls: type[Struct]) -> tuple[tuple[str, bool], ...]:
    """(field, whether it is an array of structs) for each field that leads to records."""
    plan = _plans.get(cls)
    if plan is None:
        plan = _plans[cls] = tuple(_records_in(cls))
    return plan


def _records_in(cls: type[Struct]) -> list[tuple[str, bool]]:
    found = []
    for field in cls.FIELDS:
        kind = field.kind
        if isinstance(kind, RecordsCodec):
            found.append((field.name, False))
        elif isinstance(kind, Array) and isinstance(kind.element, StructKind):
            if _plan_of(kind.element.cls):
                found.append((field.name, True))
    return found
