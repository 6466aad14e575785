"""SyncGroup: hand in the leader's assignment, or wait for one's own.

* v3: static members (KIP-345). v5: protocol type and name are mandatory, in both directions
  (KIP-559): without them INCONSISTENT_GROUP_PROTOCOL.
"""

from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.responses import sync_refused
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

VERSIONS = Versions(0, 5)


def handle(
    request: SyncGroupRequest, context: RequestContext
) -> SyncGroupResponse | Deferred[SyncGroupResponse]:
    """The member's assignment, as soon as it is known."""
    if context.api_version >= 5 and (
        request.protocol_type is None or request.protocol_name is None
    ):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return context.broker.groups.sync(request)


def refuse(request: SyncGroupRequest, code: ErrorCode) -> SyncGroupResponse:
    """The error alone."""
    return sync_refused(code)
