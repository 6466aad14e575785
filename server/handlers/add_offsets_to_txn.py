"""AddOffsetsToTxn: a group's offsets will be committed with the transaction.

* The group's partition of __consumer_offsets joins the transaction, as by AddPartitionsToTxn.
* v0-v1: INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED.
"""

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.handlers import Versions
from barnabas.server.handlers.init_producer_id import old_if_fenced
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.transaction import TRANSACTIONS_V1
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)

VERSIONS = Versions(0, 4)
FIRST_THAT_KNOWS_FENCING = 2


async def handle(
    request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    """Add the group's partition."""
    broker = context.broker
    if is_first_use(broker.metadata, OFFSETS_TOPIC):
        await after_creation(broker.topics, OFFSETS_TOPIC, lambda: None, broker.log)
    partition = (OFFSETS_TOPIC, broker.groups.partition_of(request.group_id))
    try:
        await broker.transactions.add_partitions(
            request.transactional_id, request.producer_id, request.producer_epoch,
            (partition,), TRANSACTIONS_V1,
        )  # fmt: skip
    except ApiError as error:
        raise old_if_fenced(error, context, FIRST_THAT_KNOWS_FENCING) from None
    return AddOffsetsToTxnResponse()


def refuse(request: AddOffsetsToTxnRequest, code: ErrorCode) -> AddOffsetsToTxnResponse:
    """The error."""
    return AddOffsetsToTxnResponse(error_code=int(code))
