"""ListTransactions: List the transactions that a broker coordinates."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-664) · v1 duration_filter (KIP-994) · v2 transactional_id_pattern (KIP-1152)


@message(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible=0)
class ListTransactionsRequest(Message):
    """List the transactions that a broker coordinates."""

    state_filters: list[str] = field(Array(String), default_factory=list)
    producer_id_filters: list[int] = field(Array(Int64), default_factory=list)
    # ms a transaction must have run; negative for all
    duration_filter: int = field(Int64, since=1, default=-1)
    transactional_id_pattern: str | None = field(String, since=2, nullable=0, default=None)


@struct
class TransactionState(Struct):
    transactional_id: str = field(String)
    producer_id: int = field(Int64)
    transaction_state: str = field(String)


@message(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible=0)
class ListTransactionsResponse(Message):
    """Transactional ids, producers and states."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    unknown_state_filters: list[str] = field(Array(String), default_factory=list)
    transaction_states: list[TransactionState] = field(
        Array(TransactionState), default_factory=list
    )
