"""AddPartitionsToTxn: partitions join a transaction, or are verified to be in it.

* v0-v3 are for clients, and add to one transaction; what is added once more is simply there.
* v4-v5 are for brokers (KIP-890): several transactions, each to be added to or only verified
  (`verify_only`); what is not in the transaction is TRANSACTION_ABORTABLE.
  They take CLUSTER_ACTION on the cluster.
* If one partition of a transaction does not exist, UNKNOWN_TOPIC_OR_PARTITION, none is added:
  the others are OPERATION_NOT_ATTEMPTED.
* v0-v1: INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED.
"""

from collections.abc import Mapping, Sequence

from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.core.turns import together
from barnabas.server.handlers import Versions
from barnabas.server.handlers.init_producer_id import old_if_fenced
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.transaction import (
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
)
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

VERSIONS = Versions(0, 5)
FIRST_THAT_KNOWS_FENCING = 2
FIRST_FOR_BROKERS = 4
Codes = Mapping[TopicPartition, ErrorCode]


async def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    """Add or verify, transaction by transaction. Raises ApiError."""
    if context.api_version < FIRST_FOR_BROKERS:
        only = _of_client(request)
        codes = await _serve(only, context)
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=_results(only.topics, codes)
        )
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    works = (_result(each, context) for each in request.transactions)
    results = await together(context.broker.turns.pauses(), works)
    return AddPartitionsToTxnResponse(results_by_transaction=results)


def _of_client(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        verify_only=False,
        topics=request.v3_and_below_topics,
    )


async def _result(
    wanted: AddPartitionsToTxnTransaction, context: RequestContext
) -> AddPartitionsToTxnResult:
    codes = await _serve(wanted, context)
    return AddPartitionsToTxnResult(
        transactional_id=wanted.transactional_id, topic_results=_results(wanted.topics, codes)
    )


async def _serve(wanted: AddPartitionsToTxnTransaction, context: RequestContext) -> Codes:
    """What becomes of each partition."""
    partitions = [(topic.name, index) for topic in wanted.topics for index in topic.partitions]
    if (missing := _missing(partitions, context)) is not None:
        return missing
    transactions = context.broker.transactions
    producer = (wanted.transactional_id, wanted.producer_id, wanted.producer_epoch)
    try:
        if wanted.verify_only:
            return transactions.verify_partitions(*producer, partitions)
        is_of_broker = context.api_version >= FIRST_FOR_BROKERS
        client_version = TRANSACTIONS_V2 if is_of_broker else TRANSACTIONS_V1
        await transactions.add_partitions(*producer, partitions, client_version)
    except ApiError as error:
        code = old_if_fenced(error, context, FIRST_THAT_KNOWS_FENCING).code
        return dict.fromkeys(partitions, code)
    return dict.fromkeys(partitions, ErrorCode.NONE)


def _missing(partitions: Sequence[TopicPartition], context: RequestContext) -> Codes | None:
    """What to answer if some of them do not exist."""
    metadata = context.broker.metadata
    missing = {key for key in partitions if metadata.partition(*key) is None}
    if not missing:
        return None
    unknown, others = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    return {key: unknown if key in missing else others for key in partitions}


def _results(
    topics: Sequence[AddPartitionsToTxnTopic], codes: Codes
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=int(codes[topic.name, index])
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def refuse(request: AddPartitionsToTxnRequest, code: ErrorCode) -> AddPartitionsToTxnResponse:
    """Every partition answers the error, and from v4 the request as a whole."""

    def refused(topics: Sequence[AddPartitionsToTxnTopic]) -> list[AddPartitionsToTxnTopicResult]:
        keys = ((topic.name, index) for topic in topics for index in topic.partitions)
        return _results(topics, dict.fromkeys(keys, code))

    return AddPartitionsToTxnResponse(
        error_code=int(code),
        results_by_topic_v3_and_below=refused(request.v3_and_below_topics),
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=each.transactional_id, topic_results=refused(each.topics)
            )
            for each in request.transactions
        ],
    )
