"""What a handler knows besides the request itself."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.server.network.connection import Connection
from barnabas.server.network.principal import Principal
from barnabas.server.requests.access import Operation, Resource, bits_of
from barnabas.server.requests.services import Services
from barnabas.wire.header import RequestHeader

if TYPE_CHECKING:
    from barnabas.server.requests.faults import Fault


class RequestContext:
    """One request's surroundings: the broker's services, the connection it came by, its header.

    And who asks, and what they may do.
    """

    __slots__ = (
        "broker",
        "connection",
        "fault",
        "header",
        "place",
        "received_ns",
        "request_bytes",
        "throttle_ms",
    )

    # Set by a `RequestMeter` only.
    received_ns: int
    request_bytes: int

    def __init__(self, broker: Services, connection: Connection, header: RequestHeader) -> None:
        self.broker = broker
        self.connection = connection
        self.header = header
        # What a late outcome is told to the connection by.
        self.place = connection.place
        # What a test wants to go wrong with this request's answer.
        self.fault: Fault | None = None
        # How long the client is to send nothing more; set by `throttle` only.
        self.throttle_ms = 0

    @property
    def api_version(self) -> int:
        """The version of the request, and of its response."""
        return self.header.api_version

    def throttle(self, throttle_ms: int) -> None:
        """Slow the client down; the longest of what is asked for counts.

        To be called before the answer is there, which says so if it has room; then the connection
        is muted for that long (KIP-219).
        """
        self.throttle_ms = max(self.throttle_ms, throttle_ms)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        return self.connection.principal

    def may(self, operation: Operation, resource: Resource) -> bool:
        """Whether who asks may do that."""
        return self.broker.authorizer.may(self.connection.principal, operation, resource)

    def authorized(self, operations: Iterable[Operation], resource: Resource) -> int:
        """Those of the operations that who asks may do, as the bits of an answer."""
        return bits_of(each for each in operations if self.may(each, resource))

    @property
    def listener_name(self) -> str:
        """The listener the client came by: addresses in answers are those of this one."""
        return self.connection.listener_name
