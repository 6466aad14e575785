"""StopReplica: the controller takes replicas from this broker, and has some of them deleted.

* The whole is refused STALE_CONTROLLER_EPOCH or STALE_BROKER_EPOCH; a partition of which a newer
  leader epoch is known FENCED_LEADER_EPOCH. One that is not here has been stopped.
* v1 names the broker's epoch (KIP-380); v3 a leader epoch for each partition, and for each whether
  it is deleted (KIP-570).
* Gone in 4.0: brokers that coordinate in ZooKeeper send it, up to 3.9.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse

VERSIONS = Versions(0, 4)


async def handle(request: StopReplicaRequest, context: RequestContext) -> StopReplicaResponse:
    """Carry it out. Raises ApiError CLUSTER_AUTHORIZATION_FAILED."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return await context.broker.control.stop_replicas(request)


def refuse(request: StopReplicaRequest, code: ErrorCode) -> StopReplicaResponse:
    """The whole answers the error."""
    return StopReplicaResponse(error_code=int(code))
