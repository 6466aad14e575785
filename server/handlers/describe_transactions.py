"""DescribeTransactions: the state, producer and partitions of transactional ids (KIP-664).

* An id nobody has used is TRANSACTIONAL_ID_NOT_FOUND, an empty one INVALID_REQUEST; NOT_COORDINATOR
  and COORDINATOR_LOAD_IN_PROGRESS as everywhere.
* The state is the one whose record is safe.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.transaction import Transaction
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

VERSIONS = Versions(0, 0)


def handle(
    request: DescribeTransactionsRequest, context: RequestContext
) -> Sliced[DescribeTransactionsResponse]:
    """Describe each id, or say why not."""
    return Sliced(_describe_all(request, context))


def _describe_all(
    request: DescribeTransactionsRequest, context: RequestContext
) -> Steps[DescribeTransactionsResponse]:
    states = yield from each(request.transactional_ids, lambda name: _describe(name, context))
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(transactional_id: str, context: RequestContext) -> TransactionState:
    try:
        return _described(context.broker.transactions.describe(transactional_id))
    except ApiError as error:
        return _nothing(transactional_id, error.code)


def _described(transaction: Transaction) -> TransactionState:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.text,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[TopicData(topic=name, partitions=indexes) for name, indexes in topics.items()],
    )


def _nothing(transactional_id: str, error: ErrorCode) -> TransactionState:
    return TransactionState(
        error_code=int(error),
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
    )


def refuse(request: DescribeTransactionsRequest, code: ErrorCode) -> DescribeTransactionsResponse:
    """Every id answers the error."""
    return DescribeTransactionsResponse(
        transaction_states=[_nothing(name, code) for name in request.transactional_ids]
    )
