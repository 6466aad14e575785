"""DeleteRecords: let a partition's log begin at a later offset.

* -1 stands for the high watermark; above it, or another negative offset: OFFSET_OUT_OF_RANGE.
  An offset that is gone already answers where the log begins now.
* Kafka's own topics: INVALID_TOPIC_EXCEPTION. Topics that are only compacted: POLICY_VIOLATION.
* It is answered when every live replica has deleted, too, as their fetches tell; after `timeout_ms`
  REQUEST_TIMED_OUT, with what all of them have deleted by then.
* Files below the new start go when retention next looks. A fetch that waits is answered, since
  its offset may be gone.
"""

from collections.abc import Hashable
from functools import partial

from barnabas.server.cluster.metadata import INTERNAL_TOPICS
from barnabas.server.core.delayed import Wait, look_again
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
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


Answer = DeleteRecordsResponse | Wait[DeleteRecordsResponse]

_Wanted = tuple[Partition, int, DeleteRecordsPartitionResult]


class _Unfinished:
    """What replicas have still to delete: partitions by key, with their answers."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._waiting: dict[Hashable, list[_Wanted]] = {}

    def add(self, partition: Partition, offset: int, result: DeleteRecordsPartitionResult) -> None:
        """A partition that is to begin at `offset` everywhere; how far it is by now."""
        result.low_watermark = partition.low_watermark
        if result.low_watermark < offset:
            result.error_code = int(ErrorCode.REQUEST_TIMED_OUT)
            self._waiting.setdefault(partition.key, []).append((partition, offset, result))

    @property
    def keys(self) -> list[Hashable]:
        """The partitions to be parked under."""
        return list(self._waiting)

    def is_ready(self, key: Hashable) -> bool:
        """Whether the partition that changed was the last."""
        left = [each for each in self._waiting.pop(key, ()) if not self._is_over(*each)]
        if left:
            self._waiting[key] = left
        return not self._waiting

    def _is_over(
        self, partition: Partition, offset: int, result: DeleteRecordsPartitionResult
    ) -> bool:
        if not partition.is_leader:
            result.error_code = int(self._why_lost(partition))
            result.low_watermark = NO_LOW_WATERMARK
            return True
        result.low_watermark = partition.low_watermark
        if result.low_watermark < offset:
            return False
        result.error_code = int(ErrorCode.NONE)
        return True

    def _why_lost(self, partition: Partition) -> ErrorCode:
        try:
            self._replicas.require(*partition.key)
        except ApiError as error:
            return error.code
        return ErrorCode.NOT_LEADER_OR_FOLLOWER


def handle(request: DeleteRecordsRequest, context: RequestContext) -> Sliced[Answer]:
    """Delete from every partition, and wait until its replicas have."""
    return Sliced(_answer_all(request, context))


def _answer_all(request: DeleteRecordsRequest, context: RequestContext) -> Steps[Answer]:
    response = DeleteRecordsResponse()
    unfinished = _Unfinished(context.broker.replicas)
    for topic in request.topics:
        answer = partial(_answer, topic.name, context, unfinished)
        partitions = yield from each(topic.partitions, answer)
        response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=partitions))
    if not unfinished.keys:
        return response
    wait = context.broker.deletions.park(
        unfinished.keys, request.timeout_ms, unfinished.is_ready, lambda: response
    )
    return (yield from look_again(wait))


def _answer(
    topic: str, context: RequestContext, unfinished: _Unfinished, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=NO_LOW_WATERMARK
    )
    try:
        partition, offset = _delete(topic, wanted, context)
        unfinished.add(partition, offset, result)
    except (ApiError, StorageError) as error:
        result.error_code = int(code_of(error))
    return result


def _delete(
    topic: str, wanted: DeleteRecordsPartition, context: RequestContext
) -> tuple[Partition, int]:
    """The partition, and where it is to begin. Raises ApiError, StorageError."""
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
    return partition, offset


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
