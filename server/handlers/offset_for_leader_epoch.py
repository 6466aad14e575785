"""OffsetForLeaderEpoch: where a leader epoch ends in the leader's log.

* The answer names the largest known epoch up to the one asked for (KIP-279), -1 and -1 where
  there is none. v2: the request's own leader epoch is checked (KIP-320): FENCED_LEADER_EPOCH,
  UNKNOWN_LEADER_EPOCH. Followers truncate by it, consumers find lost records.
"""

from functools import partial

from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.storage.errors import StorageError
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

VERSIONS = Versions(0, 4)


def handle(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> Sliced[OffsetForLeaderEpochResponse]:
    """Look up every partition."""
    return Sliced(_answer_all(request, context))


def _answer_all(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> Steps[OffsetForLeaderEpochResponse]:
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        look_up = partial(_answer, topic.topic, context)
        partitions = yield from each(topic.partitions, look_up)
        result = OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions)
        response.topics.append(result)
    return response


def _answer(topic: str, context: RequestContext, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=asked.partition)
    try:
        partition = context.broker.replicas.require(topic, asked.partition)
        partition.check_leader(asked.current_leader_epoch)
        found = partition.end_offset_for_epoch(asked.leader_epoch)
    except (ApiError, StorageError) as error:
        answer.error_code = int(code_of(error))
        return answer
    answer.leader_epoch, answer.end_offset = found
    return answer


def refuse(request: OffsetForLeaderEpochRequest, code: ErrorCode) -> OffsetForLeaderEpochResponse:
    """Every partition answers the error."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=asked.partition, error_code=int(code))
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
