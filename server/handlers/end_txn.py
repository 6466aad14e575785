"""EndTxn: commit or abort a transaction.

* It is answered once the end is certain; the markers that let readers see it come behind.
* v5 (KIP-890): every end raises the producer's epoch, and the answer has it, with a new producer
  id when the epochs have run out. An end that comes again is answered like the first, and an
  abort is taken although nothing was begun.
* v0-v4: the epoch stays. An end that comes again is CONCURRENT_TRANSACTIONS until it is done.
* The other direction, or an end of nothing, is INVALID_TXN_STATE; an id that is unknown or
  another producer's, INVALID_PRODUCER_ID_MAPPING. v0-v1: INVALID_PRODUCER_EPOCH instead of
  PRODUCER_FENCED.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.handlers.init_producer_id import old_if_fenced
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.transaction import TRANSACTIONS_V1, TRANSACTIONS_V2
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

VERSIONS = Versions(0, 5)
FIRST_THAT_KNOWS_FENCING = 2
FIRST_OF_V2 = 5


async def handle(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    """End it."""
    client_version = TRANSACTIONS_V2 if context.api_version >= FIRST_OF_V2 else TRANSACTIONS_V1
    try:
        producer = await context.broker.transactions.end(
            request.transactional_id, request.producer_id, request.producer_epoch,
            request.committed, client_version,
        )  # fmt: skip
    except ApiError as error:
        raise old_if_fenced(error, context, FIRST_THAT_KNOWS_FENCING) from None
    return EndTxnResponse(producer_id=producer.producer_id, producer_epoch=producer.producer_epoch)


def refuse(request: EndTxnRequest, code: ErrorCode) -> EndTxnResponse:
    """The error, and nobody to go on with."""
    return EndTxnResponse(error_code=int(code))
