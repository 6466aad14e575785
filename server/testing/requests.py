"""`broker.requests`: every request that was answered, decoded, for a test to look at."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker
    from barnabas.server.testing.seen import Seen
    from barnabas.wire.api import ApiKey


class RequestLog:
    """The latest requests, oldest first; see `barnabas.server.testing.seen`."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def __iter__(self) -> "Iterator[Seen]":
        return iter(self._broker.link.requests({}))

    def __len__(self) -> int:
        return len(self._broker.link.requests({}))

    def clear(self) -> None:
        """Forget what was seen."""
        self._broker.ask("DELETE", "/control/requests")

    def of(self, api: "str | ApiKey", client_id: str | None = None) -> "list[Seen]":
        """The requests of one API, by Kafka's name ("OFFSET_COMMIT"). Raises ValueError."""
        return self._broker.link.requests({"api": _name(api), "client_id": client_id})

    def wait_for(
        self, api: "str | ApiKey", count: int = 1, timeout_s: float = 10.0
    ) -> "list[Seen]":
        """Wait until `count` requests of an API have been answered. Raises TimeoutError."""
        wanted = {"api": _name(api), "count": count, "timeout_ms": timeout_s * 1000}
        return self._broker.link.requests(wanted)


def _name(api: "str | ApiKey") -> str:
    return api if isinstance(api, str) else api.name
