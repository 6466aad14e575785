"""UpdateMetadata: the controller tells this broker what its clients are to know.

* All live brokers each time; of partitions what has changed. A leader of -2 means that the topic is
  being deleted. The whole is refused STALE_CONTROLLER_EPOCH or STALE_BROKER_EPOCH.
* v5 groups partitions by topic and names the broker's epoch (KIP-380); v7 topic ids (KIP-516);
  v8 may say that it names all topics (KIP-866's FULL), and others are forgotten then.
* Gone in 4.0: brokers that coordinate in ZooKeeper send it, up to 3.9.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

VERSIONS = Versions(0, 8)


async def handle(request: UpdateMetadataRequest, context: RequestContext) -> UpdateMetadataResponse:
    """Carry it out. Raises ApiError CLUSTER_AUTHORIZATION_FAILED."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return await context.broker.control.update_metadata(request)


def refuse(request: UpdateMetadataRequest, code: ErrorCode) -> UpdateMetadataResponse:
    """The whole answers the error."""
    return UpdateMetadataResponse(error_code=int(code))
