"""Heartbeat: show that a member lives, and hear whether it must join again.

* v3: static members (KIP-345).
"""

from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

VERSIONS = Versions(0, 4)


def handle(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    """REBALANCE_IN_PROGRESS tells the member to join again."""
    context.broker.groups.heartbeat(request)
    return HeartbeatResponse()
