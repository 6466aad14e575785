"""InitProducerId: an id and epoch for an idempotent or transactional producer.

* Without a transactional id every request gets a new id with epoch 0, also one that brings an
  id and epoch of its own (v3, KIP-360): idempotent producers raise their epoch by themselves,
  and come here only when it has run out. Half of a pair is INVALID_REQUEST.
* A transactional id keeps its producer id, and every request raises the epoch, which fences
  whoever had the one before; with an id and epoch (v3) only their owner is served. When the
  epochs have run out there is a new id. The first request makes __transaction_state.
* An open transaction is aborted first: CONCURRENT_TRANSACTIONS until that is done, and while
  any other step is being written.
* An empty transactional id is INVALID_REQUEST, a timeout above `transaction.max.timeout.ms` or
  below 1 INVALID_TRANSACTION_TIMEOUT. v0-v3: INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED.
"""

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.errors import REGISTRY_CODES, ApiError
from barnabas.server.core.topic_names import TRANSACTION_TOPIC
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.transaction import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerIdAndEpoch,
)
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

VERSIONS = Versions(0, 5)  # 4.4 holds v6 back as unstable (KIP-939)
FIRST_THAT_KNOWS_FENCING = 4


async def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    """Hand out an id and an epoch."""
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return await _new_id(context)
    broker = context.broker
    if is_first_use(broker.metadata, TRANSACTION_TOPIC):
        await after_creation(broker.topics, TRANSACTION_TOPIC, lambda: None, broker.log)
    known = ProducerIdAndEpoch(request.producer_id, request.producer_epoch) if has_id else None
    try:
        producer = await broker.transactions.init_producer_id(
            request.transactional_id, request.transaction_timeout_ms, known
        )
    except ApiError as error:
        raise old_if_fenced(error, context, FIRST_THAT_KNOWS_FENCING) from None
    return InitProducerIdResponse(
        producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )


async def _new_id(context: RequestContext) -> InitProducerIdResponse:
    try:
        producer_id = await context.broker.producer_ids.take()
    except tuple(REGISTRY_CODES):
        # As Kafka answers until a block of ids has come; clients retry.
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from None
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def old_if_fenced(error: ApiError, context: RequestContext, first_version: int) -> ApiError:
    """The error, in words that a client of the request's version knows (KIP-588)."""
    if error.code is ErrorCode.PRODUCER_FENCED and context.api_version < first_version:
        return ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
    return error


def refuse(request: InitProducerIdRequest, code: ErrorCode) -> InitProducerIdResponse:
    """No id, no epoch."""
    return InitProducerIdResponse(error_code=int(code), producer_epoch=NO_PRODUCER_EPOCH)
