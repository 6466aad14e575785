"""DeleteRecords: let a partition's log begin at a later offset.

* -1 stands for the high watermark; above it, or another negative offset: OFFSET_OUT_OF_RANGE.
  An offset that is gone already answers where the log begins now.
* Kafka's own topics: INVALID_TOPIC_EXCEPTION. Topics that are only compacted: POLICY_VIOLATION.
* Files below the new start go when retention next looks. A fetch that waits is answered, since
  its offset may be gone.
"""

from functools import partial

from barnabas.server.cluster.metadata import INTERNAL_TOPICS
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.storage.errors import OffsetOutOfRange, StorageError
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

VERSIONS = Versions(0, 2)
HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1


def handle(request: DeleteRecordsRequest, context: RequestContext) -> Sliced[DeleteRecordsResponse]:
    """Delete from every partition."""
    return Sliced(_answer_all(request, context))


def _answer_all(
    request: DeleteRecordsRequest, context: RequestContext
) -> Steps[DeleteRecordsResponse]:
    response = DeleteRecordsResponse()
    for topic in request.topics:
        partitions = yield from each(topic.partitions, partial(_answer, topic.name, context))
        response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=partitions))
    return response


def _answer(
    topic: str, context: RequestContext, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=NO_LOW_WATERMARK
    )
    try:
        result.low_watermark = _delete(topic, wanted, context)
    except (ApiError, StorageError) as error:
        result.error_code = int(code_of(error))
    return result


def _delete(topic: str, wanted: DeleteRecordsPartition, context: RequestContext) -> int:
    """The partition's log start offset afterwards. Raises ApiError, StorageError."""
    partition = context.broker.replicas.require(topic, wanted.partition_index)
    if topic in INTERNAL_TOPICS:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    partition.check_leader()
    log = partition.log
    if not log.config.delete:
        raise ApiError(ErrorCode.POLICY_VIOLATION)
    offset = log.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
    if offset < 0:
        raise OffsetOutOfRange("below zero", topic_partition=log.topic_partition, offset=offset)
    if log.maybe_increment_log_start_offset(offset):
        context.broker.fetches.complete_all(partition.key)
    return log.log_start_offset


def refuse(request: DeleteRecordsRequest, code: ErrorCode) -> DeleteRecordsResponse:
    """Every partition answers the error."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=wanted.partition_index,
                        low_watermark=NO_LOW_WATERMARK,
                        error_code=int(code),
                    )
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
