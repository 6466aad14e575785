"""`broker.requests`: every request that was answered, decoded, for a test to look at."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.server.testing.refusals import in_python, ms_of

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker
    from barnabas.server.testing.seen import Seen
    from barnabas.wire.api import ApiKey


class RequestLog:
    """The latest requests, oldest first; see `barnabas.server.testing.seen`."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def __repr__(self) -> str:
        return f"<the requests of {self._broker!r}>"

    def __iter__(self) -> "Iterator[Seen]":
        return iter(self._find("requests", {}))

    def __len__(self) -> int:
        return len(self._find("requests", {}))

    def clear(self) -> None:
        """Forget what was seen."""
        self._broker.command("requests.clear", "DELETE", "/control/requests")

    def of(self, api: "str | ApiKey", client_id: str | None = None) -> "list[Seen]":
        """The requests of one API, by Kafka's name ("OFFSET_COMMIT"). Raises ValueError."""
        return self._find("requests.of", {"api": _name(api), "client_id": client_id})

    def wait_for(
        self, api: "str | ApiKey", count: int = 1, timeout_s: float = 10.0
    ) -> "list[Seen]":
        """Wait until `count` requests of an API have been answered. Raises TimeoutError."""
        timeout_ms = ms_of("requests.wait_for", timeout_s)
        wanted = {"api": _name(api), "count": count, "timeout_ms": timeout_ms}
        return self._find("requests.wait_for", wanted)

    def _find(self, method: str, given: "Mapping[str, object]") -> "list[Seen]":
        with in_python(method):
            return self._broker.link.requests(given)


def _name(api: "str | ApiKey") -> str:
    return api if isinstance(api, str) else api.name
