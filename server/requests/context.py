"""What a handler knows besides the request itself."""

from typing import TYPE_CHECKING

from barnabas.server.network.connection import Connection
from barnabas.wire.header import RequestHeader

if TYPE_CHECKING:
    from barnabas.server.broker import Broker
    from barnabas.server.requests.faults import Fault


class RequestContext:
    """One request's surroundings: the broker, the connection it came by, its header."""

    __slots__ = ("broker", "connection", "fault", "header", "received_ns", "request_bytes")

    # Set by a `RequestMeter` only.
    received_ns: int
    request_bytes: int

    def __init__(self, broker: "Broker", connection: Connection, header: RequestHeader) -> None:
        self.broker = broker
        self.connection = connection
        self.header = header
        # What a test wants to go wrong with this request's answer.
        self.fault: Fault | None = None

    @property
    def api_version(self) -> int:
        """The version of the request, and of its response."""
        return self.header.api_version

    @property
    def listener_name(self) -> str:
        """The listener the client came by: addresses in answers are those of this one."""
        return self.connection.listener_name
