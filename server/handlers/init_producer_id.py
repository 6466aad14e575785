"""InitProducerId: a producer id for an idempotent producer.

* Without a transactional id every request gets a new id with epoch 0, also one that brings an
  id and epoch of its own (v3, KIP-360): idempotent producers raise their epoch by themselves,
  and come here only when it has run out. Half of a pair is INVALID_REQUEST.
* Transactional ids: an empty one is INVALID_REQUEST, a timeout out of bounds
  INVALID_TRANSACTION_TIMEOUT. There is no transaction coordinator yet, so everybody else is
  told COORDINATOR_NOT_AVAILABLE, which clients retry.
"""

from barnabas.server.core.errors import REGISTRY_CODES, ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

VERSIONS = Versions(0, 5)  # 4.4 holds v6 back as unstable (KIP-939)
NO_PRODUCER_ID = NO_PRODUCER_EPOCH = -1


async def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    """Hand out the next id."""
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        _check_transactional(request, context.broker.config.transaction_max_timeout_ms)
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    try:
        producer_id = await context.broker.producer_ids.take()
    except tuple(REGISTRY_CODES):
        # As Kafka answers until a block of ids has come; clients retry.
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from None
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _check_transactional(request: InitProducerIdRequest, max_timeout_ms: int) -> None:
    if not request.transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if not 0 < request.transaction_timeout_ms <= max_timeout_ms:
        raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def refuse(request: InitProducerIdRequest, code: ErrorCode) -> InitProducerIdResponse:
    """No id, no epoch."""
    return InitProducerIdResponse(error_code=int(code), producer_epoch=NO_PRODUCER_EPOCH)
