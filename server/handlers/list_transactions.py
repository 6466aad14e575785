"""ListTransactions: the transactional ids that this broker coordinates.

* v2: only those whose whole id matches a pattern of RE2's syntax (KIP-1152); what is none is
  INVALID_REGULAR_EXPRESSION.
* Only those in some states, by Kafka's names (others are told as unknown), or with some producer
  ids; v1: only those whose transaction began longer ago than so many ms (KIP-994), an id that
  never had one included, as in Kafka.
* While a partition is being loaded: COORDINATOR_LOAD_IN_PROGRESS, and nothing else.
"""

from collections.abc import Callable

from barnabas.server.core.errors import ApiError
from barnabas.server.core.pattern_syntax import BadPattern
from barnabas.server.core.patterns import Pattern
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.states import STATE_NAMES
from barnabas.server.transactions.transaction import Transaction
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

VERSIONS = Versions(0, 2)


def handle(
    request: ListTransactionsRequest, context: RequestContext
) -> Sliced[ListTransactionsResponse]:
    """Every id that the filters leave."""
    return Sliced(_list(request, context))


def _list(
    request: ListTransactionsRequest, context: RequestContext
) -> Steps[ListTransactionsResponse]:
    transactions = context.broker.transactions
    if transactions.shards.is_loading:
        return refuse(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    unknown = [name for name in request.state_filters if name not in STATE_NAMES]
    response = ListTransactionsResponse(unknown_state_filters=unknown)
    is_wanted = _filter(request, context.broker.clock.now_ms())
    pattern = _pattern(request.transactional_id_pattern)
    for transaction in transactions.all_transactions():
        name = transaction.transactional_id
        if is_wanted(transaction) and (
            pattern is None or (yield from pattern.match_in_steps(name))
        ):
            response.transaction_states.append(_listed(transaction))
        yield
    return response


def _pattern(text: str | None) -> Pattern | None:
    if not text:
        return None
    try:
        return Pattern(text)
    except BadPattern as error:
        message = f"{text} is no pattern of transactional ids: {error}."
        raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from None


def _filter(request: ListTransactionsRequest, now_ms: int) -> Callable[[Transaction], bool]:
    states, producer_ids = set(request.state_filters), set(request.producer_id_filters)
    duration_ms = request.duration_filter

    def is_wanted(transaction: Transaction) -> bool:
        return (
            (not producer_ids or transaction.producer_id in producer_ids)
            and (not states or transaction.state.text in states)
            and (duration_ms < 0 or now_ms - transaction.start_ms > duration_ms)
        )

    return is_wanted


def _listed(transaction: Transaction) -> TransactionState:
    return TransactionState(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.text,
    )


def refuse(request: ListTransactionsRequest, code: ErrorCode) -> ListTransactionsResponse:
    """Nothing but the error."""
    return ListTransactionsResponse(error_code=int(code))
