"""ListOffsets: where a partition begins, ends, or stood at a time.

Specials: -1 latest (the high watermark, or the last stable offset for read_committed), -2
earliest, -3 the record with the largest timestamp (v7, KIP-734), -4 earliest local (v8,
KIP-405), -5 latest tiered (v9, KIP-1005), -6 earliest pending upload (v11, KIP-1023). Without
tiered storage the earliest local offset is the earliest, and nothing was tiered: offset -1.
v0 lists segment start offsets before a time, newest first. Nothing found is offset -1 with no
error. v4: leader epochs are checked (KIP-320). What a look-up needs from the disk is read by a
thread first (ColdRead).
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.turns import Sliced, Waiting
from barnabas.server.handlers import Versions
from barnabas.server.replication.partition import Partition
from barnabas.server.requests.context import RequestContext
from barnabas.storage.disk.open_files import ColdRead
from barnabas.storage.errors import StorageError
from barnabas.storage.log.offset_lookup import TimestampedOffset
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

VERSIONS = Versions(0, 11)
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(
    -1, -7, -1
)
# A special that a version does not know is refused (Kafka: UNSUPPORTED_VERSION).
SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
NOT_AVAILABLE_SINCE = 5
NOTHING = TimestampedOffset(-1, -1, -1)
T = TypeVar("T")
CONSUMER, DEBUGGING_CONSUMER = -1, -2


def handle(request: ListOffsetsRequest, context: RequestContext) -> Sliced[ListOffsetsResponse]:
    """Look up every partition."""
    return Sliced(_answer_all(request, context))


def _answer_all(
    request: ListOffsetsRequest, context: RequestContext
) -> Waiting[ListOffsetsResponse]:
    seen: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    for topic in request.topics:
        for partition in topic.partitions:
            key = (topic.name, partition.partition_index)
            (twice if key in seen else seen).add(key)
            yield None
    response = ListOffsetsResponse()
    for topic in request.topics:
        answers = ListOffsetsTopicResponse(name=topic.name)
        for asked in topic.partitions:
            answer = yield from _answer(topic.name, request, context, twice, asked)
            answers.partitions.append(answer)
            yield None
        yield None  # no partitions are a step, too: there may be many lists of none
        response.topics.append(answers)
    return response


def _answer(
    topic: str,
    request: ListOffsetsRequest,
    context: RequestContext,
    twice: set[tuple[str, int]],
    asked: ListOffsetsPartition,
) -> Waiting[ListOffsetsPartitionResponse]:
    answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
    try:
        if (topic, asked.partition_index) in twice:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        if context.api_version < SINCE.get(asked.timestamp, 0):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        partition = context.broker.replicas.require(topic, asked.partition_index)
        if request.replica_id != DEBUGGING_CONSUMER:
            partition.check_leader(asked.current_leader_epoch)
        if context.api_version == 0:
            starts = partial(_segment_starts, partition, asked)
            answer.old_style_offsets = yield from _warmed(partition, context, starts)
            return answer
        found = yield from _look_up_where_it_is(partition, asked.timestamp, request, context)
    except (ApiError, StorageError) as error:
        answer.error_code = int(code_of(error))
        return answer
    answer.offset = found.offset
    answer.timestamp = found.timestamp
    if context.api_version >= 4:
        answer.leader_epoch = found.leader_epoch
    return answer


def _look_up_where_it_is(
    partition: Partition, timestamp: int, request: ListOffsetsRequest, context: RequestContext
) -> Waiting[TimestampedOffset]:
    """Once more where the log was moved to another directory meanwhile: its files are gone."""
    log = partition.log
    try:
        return (yield from _look_up(partition, timestamp, request, context))
    except StorageError:
        if partition.log is log:
            raise
    return (yield from _look_up(partition, timestamp, request, context))


def _look_up(
    partition: Partition, timestamp: int, request: ListOffsetsRequest, context: RequestContext
) -> Waiting[TimestampedOffset]:
    """Files are looked into where they are warm, batches record by record in steps."""
    log = partition.log
    read = partial(_warmed, partition, context)
    if timestamp == LATEST:
        is_replica = request.replica_id >= 0
        _check_committed(partition, request, context)
        end = log.log_end_offset if is_replica else partition.end_offset(request.isolation_level)
        return log.lookup.latest(end)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return (yield from _warmed(partition, context, log.lookup.earliest))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING
    if timestamp == MAX_TIMESTAMP:
        found = yield from log.lookup.of_max_timestamp_in_steps(read)
    elif timestamp < 0:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    else:
        found = yield from log.lookup.by_timestamp_in_steps(timestamp, read)
    # What a consumer of this isolation level cannot read yet, it is not told of.
    end = partition.end_offset(request.isolation_level)
    if found is not None and (found.offset < end or request.replica_id >= 0):
        return found
    _check_committed(partition, request, context)
    return NOTHING


def _check_committed(
    partition: Partition, request: ListOffsetsRequest, context: RequestContext
) -> None:
    """Refuse a client what only the leader before could have told."""
    if request.replica_id == CONSUMER and partition.has_lagging_high_watermark:
        if context.api_version < NOT_AVAILABLE_SINCE:
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE)
        raise ApiError(ErrorCode.OFFSET_NOT_AVAILABLE)


def _warmed(partition: Partition, context: RequestContext, look_up: Callable[[], T]) -> Waiting[T]:
    """What a look-up comes to; what it needs from the disk is read by a thread first."""

    def look() -> T:
        with partition.log.files.warm_only():
            return look_up()

    try:
        return look()
    except ColdRead as cold:
        return (yield from context.broker.population.read_ahead.warm(look, cold))


def _segment_starts(partition: Partition, asked: ListOffsetsPartition) -> list[int]:
    """Version 0: start offsets of segments last changed before the time, newest first."""
    log = partition.log
    end = log.high_watermark
    starts = [(segment.base_offset, segment.size_bytes) for segment in log.segments]
    if asked.timestamp == EARLIEST:
        return [log.log_start_offset][: asked.max_num_offsets]
    offsets = [max(base, log.log_start_offset) for base, _ in starts]
    if starts[-1][1]:
        offsets.append(end)
    if asked.timestamp != LATEST:
        times = list(log.ages())
        offsets = [
            o for o, time_ms in zip(offsets, times, strict=False) if time_ms <= asked.timestamp
        ]
    visible = sorted({o for o in offsets if o <= end}, reverse=True)
    return visible[: asked.max_num_offsets]


def refuse(request: ListOffsetsRequest, code: ErrorCode) -> ListOffsetsResponse:
    """Every partition answers the error."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=partition.partition_index, error_code=int(code)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
