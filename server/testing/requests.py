"""`broker.requests`: every request that was answered, decoded, for a test to look at.

Only the latest are kept, and records stay out of it: a request's view into its frame does not
outlive the frame.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.wire.api import ApiKey
from barnabas.wire.header import RequestHeader
from barnabas.wire.schema import Message

if TYPE_CHECKING:
    from barnabas.server.broker import Broker as ServerBroker
    from barnabas.server.testing.broker import Broker

KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A request and what it was answered; `response` is None where nothing is (acks=0)."""

    api: ApiKey
    version: int
    client_id: str | None
    request: Message
    response: Message | None


class RequestLog:
    """The latest requests, oldest first."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._seen: deque[Seen] = deque(maxlen=KEPT)
        self._changed = threading.Condition()

    def attach(self, server: "ServerBroker") -> None:
        """A broker has started: listen to what it answers."""
        server.dispatcher.observer = self._observe

    def __iter__(self) -> Iterator[Seen]:
        with self._changed:
            return iter(tuple(self._seen))

    def __len__(self) -> int:
        return len(self._seen)

    def clear(self) -> None:
        """Forget what was seen."""
        with self._changed:
            self._seen.clear()

    def of(self, api: str | ApiKey, client_id: str | None = None) -> list[Seen]:
        """The requests of one API, by Kafka's name ("OFFSET_COMMIT")."""
        key = ApiKey[api.upper()] if isinstance(api, str) else api
        return [
            seen
            for seen in self
            if seen.api is key and (client_id is None or seen.client_id == client_id)
        ]

    def wait_for(self, api: str | ApiKey, count: int = 1, timeout_s: float = 10.0) -> list[Seen]:
        """Wait until `count` requests of an API have been answered. Raises TimeoutError."""
        return self._wait(lambda: self.of(api), count, timeout_s, str(api))

    def _wait(
        self, find: Callable[[], list[Seen]], count: int, timeout_s: float, what: str
    ) -> list[Seen]:
        with self._changed:
            if not self._changed.wait_for(lambda: len(find()) >= count, timeout_s):
                raise TimeoutError(
                    f"{len(find())} requests of {what} in {timeout_s} s, not {count}"
                )
            return find()

    def _observe(self, header: RequestHeader, request: Message, response: Message | None) -> None:
        seen = Seen(ApiKey(header.api_key), header.api_version, header.client_id, request, response)
        with self._changed:
            self._seen.append(seen)
            self._changed.notify_all()
