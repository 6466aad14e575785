"""LeaderAndIsr: the controller makes this broker leader or follower of partitions.

* The whole is refused STALE_CONTROLLER_EPOCH or STALE_BROKER_EPOCH; a partition whose leader epoch
  is not newer than the known one STALE_CONTROLLER_EPOCH by itself, one that has no replica here
  UNKNOWN_TOPIC_OR_PARTITION, one whose disk fails KAFKA_STORAGE_ERROR.
* v2 groups partitions by topic and names the broker's epoch (KIP-380); v5 topic ids (KIP-516);
  v6 the recovery state of a leader (KIP-704), which is not looked at yet.
* Gone in 4.0: brokers that coordinate in ZooKeeper send it, up to 3.9.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse

VERSIONS = Versions(0, 7)


async def handle(request: LeaderAndIsrRequest, context: RequestContext) -> LeaderAndIsrResponse:
    """Carry it out. Raises ApiError CLUSTER_AUTHORIZATION_FAILED."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return await context.broker.control.leader_and_isr(request, context.api_version)


def refuse(request: LeaderAndIsrRequest, code: ErrorCode) -> LeaderAndIsrResponse:
    """The whole answers the error."""
    return LeaderAndIsrResponse(error_code=int(code))
