"""AllocateProducerIds: a broker takes the next block of producer ids from the controller.

* A broker that is not registered: BROKER_ID_NOT_REGISTERED; one that has registered anew since:
  STALE_BROKER_EPOCH. A broker that is not the controller: NOT_CONTROLLER.
* Brokers ask from inter-broker protocol 3.0 on (KIP-730); before, each takes blocks itself.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

VERSIONS = Versions(0, 0)


async def handle(
    request: AllocateProducerIdsRequest, context: RequestContext
) -> AllocateProducerIdsResponse:
    """Take a block. Raises ApiError CLUSTER_AUTHORIZATION_FAILED, and the refusals above."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    controller = context.broker.controller
    block = await controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
    return AllocateProducerIdsResponse(producer_id_start=block.start, producer_id_len=block.size)


def refuse(request: AllocateProducerIdsRequest, code: ErrorCode) -> AllocateProducerIdsResponse:
    """The whole answers the error."""
    return AllocateProducerIdsResponse(
        error_code=int(code), producer_id_start=-1, producer_id_len=0
    )
