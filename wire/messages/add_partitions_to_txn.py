"""AddPartitionsToTxn: Put partitions under a transaction, or verify that they are."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 v3_and_below_topics of one transaction (KIP-98) ·
# v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 error PRODUCER_FENCED (KIP-588) · v3 flexible (KIP-482); the last version for clients ·
# v4 for brokers: transactions in a batch, verify_only, error_code (KIP-890) ·
# v5 error TRANSACTION_ABORTABLE (KIP-890)


@struct
class AddPartitionsToTxnTopic(Struct):
    name: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    # only check, add nothing
    verify_only: bool = field(Boolean)
    topics: list[AddPartitionsToTxnTopic] = field(
        Array(AddPartitionsToTxnTopic), default_factory=list
    )


@message(ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), flexible=3)
class AddPartitionsToTxnRequest(Message):
    """Put partitions under a transaction, or verify that they are."""

    v3_and_below_transactional_id: str = field(String, until=3, default="")
    v3_and_below_producer_id: int = field(Int64, until=3, default=0)
    v3_and_below_producer_epoch: int = field(Int16, until=3, default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(
        Array(AddPartitionsToTxnTopic), until=3, default_factory=list
    )
    transactions: list[AddPartitionsToTxnTransaction] = field(
        Array(AddPartitionsToTxnTransaction), since=4, default_factory=list
    )


@struct
class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = field(Int32)
    partition_error_code: int = field(Int16)


@struct
class AddPartitionsToTxnTopicResult(Struct):
    name: str = field(String)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(
        Array(AddPartitionsToTxnPartitionResult), default_factory=list
    )


@struct
class AddPartitionsToTxnResult(Struct):
    transactional_id: str = field(String)
    topic_results: list[AddPartitionsToTxnTopicResult] = field(
        Array(AddPartitionsToTxnTopicResult), default_factory=list
    )


@message(ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), flexible=3)
class AddPartitionsToTxnResponse(Message):
    """Per partition, whether it is under the transaction."""

    throttle_time_ms: int = field(Int32, default=0)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(
        Array(AddPartitionsToTxnTopicResult), until=3, default_factory=list
    )
    error_code: int = field(Int16, since=4, ignorable=True, default=0)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(
        Array(AddPartitionsToTxnResult), since=4, default_factory=list
    )
