"""A transactional id's producer, state and partitions."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-98) ·
# v1 flexible (KIP-915); tagged previous_producer_id, next_producer_id,
#   client_transaction_version, next_producer_epoch (KIP-890)


@struct
class PartitionsSchema(Struct):
    topic: str = field(String)
    partition_ids: list[int] = field(Array(Int32), default_factory=list)


@message(versions=(0, 1), flexible=1)
class TransactionLogValue(Message):
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    transaction_timeout_ms: int = field(Int32)
    # 0 empty, 1 ongoing, 2 preparing commit, 3 preparing abort, 4 committed, 5 aborted,
    # 6 dead, 7 epoch fence
    transaction_status: int = field(Int8)
    transaction_partitions: list[PartitionsSchema] | None = field(
        Array(PartitionsSchema), nullable=0, default_factory=list
    )
    transaction_last_update_timestamp_ms: int = field(Int64)
    transaction_start_timestamp_ms: int = field(Int64)
    previous_producer_id: int = field(Int64, since=1, default=-1, tag=0)
    next_producer_id: int = field(Int64, since=1, default=-1, tag=1)
    client_transaction_version: int = field(Int16, since=1, tag=2, default=0)
    next_producer_epoch: int = field(Int16, since=1, default=-1, tag=3)
