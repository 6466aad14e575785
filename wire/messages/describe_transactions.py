"""DescribeTransactions: Ask for the state of transactional ids."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-664)


@message(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0)
class DescribeTransactionsRequest(Message):
    """Ask for the state of transactional ids."""

    transactional_ids: list[str] = field(Array(String), default_factory=list)


@struct
class TopicData(Struct):
    topic: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class TransactionState(Struct):
    error_code: int = field(Int16, default=0)
    transactional_id: str = field(String)
    transaction_state: str = field(String)
    transaction_timeout_ms: int = field(Int32)
    # -1 if none is open
    transaction_start_time_ms: int = field(Int64)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    topics: list[TopicData] = field(Array(TopicData), default_factory=list)


@message(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0)
class DescribeTransactionsResponse(Message):
    """Per transactional id, its state, producer and partitions."""

    throttle_time_ms: int = field(Int32, default=0)
    transaction_states: list[TransactionState] = field(
        Array(TransactionState), default_factory=list
    )
