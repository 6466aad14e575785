"""ControlledShutdown: a broker asks to be relieved of what it leads, before it stops.

* Answered with the partitions that it still leads and others have replicas of: it asks again.
* The controller serves it; others answer STALE_CONTROLLER_EPOCH. A broker that is not registered:
  BROKER_NOT_AVAILABLE; one that has registered anew since: STALE_BROKER_EPOCH.
* v0 has a header without a client id; v2 names the broker's epoch (KIP-380).
* Gone in 4.0: brokers that coordinate in ZooKeeper send it, up to 3.9.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)

VERSIONS = Versions(0, 3)


async def handle(
    request: ControlledShutdownRequest, context: RequestContext
) -> ControlledShutdownResponse:
    """Relieve the broker. Raises ApiError CLUSTER_AUTHORIZATION_FAILED."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return await context.broker.controller.controlled_shutdown(request)


def refuse(request: ControlledShutdownRequest, code: ErrorCode) -> ControlledShutdownResponse:
    """The whole answers the error."""
    return ControlledShutdownResponse(error_code=int(code))
