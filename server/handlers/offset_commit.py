"""OffsetCommit: store a group's offsets.

* v0 keeps them in the registry, at /consumers/<group>/offsets, as Kafka up to 3.9 does: a group
  that no znode can be named after is refused, INVALID_GROUP_ID (Kafka: UNKNOWN_SERVER_ERROR). v1
  and later in __consumer_offsets. v1: a commit timestamp for each.
* v2-v4: how long to keep them, 2^63-1 ms after 1970 at the most; from v5 the broker decides
  (KIP-211). v6: leader epochs (KIP-320).
* v7: static members (KIP-345). v10: topics by id (KIP-848): UNKNOWN_TOPIC_ID.
* An unknown topic or partition is refused alone, the rest is stored; so is metadata that is too
  long. No metadata is stored as an empty text.
"""

from asyncio import gather
from collections.abc import Coroutine
from typing import Any

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.loading import load_in_steps
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.core.turns import Sliced
from barnabas.server.groups.commit_parts import COMMIT_PARTS
from barnabas.server.groups.offsets import (
    Commits,
    CommittedOffset,
    commit_refusal,
    take_out_deleted,
)
from barnabas.server.handlers import Versions
from barnabas.server.registry.znodes.store import ZnodeError
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

VERSIONS = Versions(0, 10)
BY_ID_SINCE = 10
FOREVER_MS = (1 << 63) - 1
Answers = dict[tuple[str, int], OffsetCommitResponsePartition]
Answer = (
    OffsetCommitResponse
    | Deferred[OffsetCommitResponse]
    | Coroutine[Any, Any, OffsetCommitResponse]
)


def handle(request: OffsetCommitRequest, context: RequestContext) -> Sliced[Answer]:
    """Store what can be stored; answered when it is safe."""
    return Sliced(_serve(request, context))


def _serve(request: OffsetCommitRequest, context: RequestContext) -> Steps[Answer]:
    yield from load_in_steps(COMMIT_PARTS)
    response = OffsetCommitResponse()
    commits, answers = yield from _sort_out(request, context, response)
    if not commits:
        return response
    if context.api_version == 0:
        if not context.broker.registry.consumers.may_have_group(request.group_id):
            _report(answers.values(), ErrorCode.INVALID_GROUP_ID)
            return response
        return _commit_to_registry(request.group_id, commits, answers, response, context)
    if is_first_use(context.broker.metadata, OFFSETS_TOPIC):
        broker = context.broker
        return after_creation(
            broker.topics,
            OFFSETS_TOPIC,
            lambda: _commit(request, commits, answers, response, context),
            broker.log,
        )
    return _commit(request, commits, answers, response, context)


def _commit(
    request: OffsetCommitRequest,
    commits: Commits,
    answers: Answers,
    response: OffsetCommitResponse,
    context: RequestContext,
) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
    from barnabas.server.groups.commits import Committer

    topics, by_id = context.broker.metadata.topics, context.api_version >= BY_ID_SINCE
    for key, code in take_out_deleted(commits, topics, by_id=by_id).items():
        answers.pop(key).error_code = int(code)
    if not commits:
        return response
    committer = Committer(
        request.generation_id_or_member_epoch, request.member_id, request.group_instance_id
    )
    deferred: Deferred[OffsetCommitResponse] = Deferred()

    def done(error: ErrorCode) -> None:
        _report(answers.values(), error)
        deferred.give(response)

    try:
        context.broker.groups.commit(request.group_id, committer, commits, done)
    except ApiError as error:
        _report(answers.values(), error.code)
        return response
    return response if deferred.done else deferred


def _sort_out(
    request: OffsetCommitRequest, context: RequestContext, response: OffsetCommitResponse
) -> Steps[tuple[Commits, Answers]]:
    """The offsets to store, and the answers that wait for that; the refused are answered."""
    metadata = context.broker.metadata
    by_id = context.api_version >= BY_ID_SINCE
    limit = context.broker.config.offset_metadata_max_bytes
    commits: Commits = {}
    answers: Answers = {}
    for topic in request.topics:
        name = metadata.name_of(topic.topic_id) if by_id else topic.name
        known = metadata.topics.get(name) if name is not None else None
        topic_answer = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(topic_answer)
        yield
        for partition in topic.partitions:
            yield
            answer = OffsetCommitResponsePartition(partition_index=partition.partition_index)
            topic_answer.partitions.append(answer)
            index, text = partition.partition_index, partition.committed_metadata
            refusal = commit_refusal(known, index, text, limit)
            if name is None:
                answer.error_code = int(ErrorCode.UNKNOWN_TOPIC_ID)
            elif known is None or refusal is not ErrorCode.NONE:
                answer.error_code = int(refusal)
            else:
                key = (name, partition.partition_index)
                commits[key] = _committed(partition, request, context)
                commits[key].topic_id = known.topic_id
                answers[key] = answer
    return commits, answers


def _committed(
    partition: OffsetCommitRequestPartition, request: OffsetCommitRequest, context: RequestContext
) -> CommittedOffset:
    now_ms = context.broker.clock.now_ms()
    timestamp_ms = partition.commit_timestamp
    retention_ms = request.retention_time_ms
    return CommittedOffset(
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        now_ms if timestamp_ms == -1 else timestamp_ms,
        None if retention_ms == -1 else min(now_ms + retention_ms, FOREVER_MS),
    )


async def _commit_to_registry(
    group_id: str,
    commits: Commits,
    answers: Answers,
    response: OffsetCommitResponse,
    context: RequestContext,
) -> OffsetCommitResponse:
    """Store offsets as version 0 does: all of them at once, each with its own outcome."""
    consumers = context.broker.registry.consumers

    async def write(topic: str, partition: int, offset: int) -> None:
        try:
            await consumers.write_offset(group_id, topic, partition, offset)
        except ZnodeError as error:
            answers[topic, partition].error_code = int(code_of(error))

    await gather(*(write(*where, committed.offset) for where, committed in commits.items()))
    return response


def _report(answers: Any, error: ErrorCode) -> None:
    for answer in answers:
        answer.error_code = int(error)


def refuse(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """Every partition answers the error."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=int(code)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
