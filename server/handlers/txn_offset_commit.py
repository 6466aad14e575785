"""TxnOffsetCommit: store a group's offsets as part of a transaction.

* They are in the log at once and take effect at the transaction's commit marker; until then
  OffsetFetch answers UNSTABLE_OFFSET_COMMIT to who asks for stable ones.
* The group's partition of __consumer_offsets has to be part of the transaction. v0-v4: the client
  has added it by AddOffsetsToTxn, and the coordinator is asked whether that is so; from v5 it is
  added here (KIP-890, transactions of version 2).
* v0, v1: COORDINATOR_LOAD_IN_PROGRESS, which those clients do not survive, is told as
  COORDINATOR_NOT_AVAILABLE (KAFKA-7296). v3: members are fenced by their group (KIP-447).
  v4: TRANSACTION_ABORTABLE, before that INVALID_TXN_STATE. v6: topics by id (KIP-1319).
* An unknown topic or partition is refused alone, and so is metadata that is too long.
"""

from collections.abc import Coroutine
from itertools import chain
from typing import Any

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.awaiting import given
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.core.loading import load_in_steps
from barnabas.server.core.topic_names import OFFSETS_TOPIC, TopicPartition
from barnabas.server.core.turns import Sliced
from barnabas.server.groups.commit_parts import COMMIT_PARTS
from barnabas.server.groups.offsets import (
    Commits,
    CommittedOffset,
    commit_refusal,
    take_out_deleted,
)
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.verification import Beginning, Beginnings, ClientKind
from barnabas.storage.batch.header import NO_SEQUENCE
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

VERSIONS = Versions(0, 6)
BY_ID_SINCE = 6
ADDS_SINCE = 5
ABORTABLE_SINCE = 4
KNOWS_LOADING_SINCE = 2
Answers = dict[TopicPartition, list[TxnOffsetCommitResponsePartition]]

TOLD: dict[ErrorCode, ErrorCode] = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
"""What the transaction's coordinator, or the log, says, as the group's clients know it."""


Answer = TxnOffsetCommitResponse | Coroutine[Any, Any, TxnOffsetCommitResponse]


def handle(request: TxnOffsetCommitRequest, context: RequestContext) -> Sliced[Answer]:
    """Store what can be stored; answered when it is safe."""
    return Sliced(_serve(request, context))


def _serve(request: TxnOffsetCommitRequest, context: RequestContext) -> Steps[Answer]:
    yield from load_in_steps(COMMIT_PARTS)
    response = TxnOffsetCommitResponse()
    commits, answers = yield from _sort_out(request, context, response)
    if not commits:
        return response

    async def commit() -> TxnOffsetCommitResponse:
        _report(answers, await _commit(request, commits, answers, context), context)
        return response

    return commit()


async def _commit(
    request: TxnOffsetCommitRequest, commits: Commits, answers: Answers, context: RequestContext
) -> ErrorCode:
    """What became of the offsets, all of them alike but those whose topic has gone meanwhile."""
    broker = context.broker
    if is_first_use(broker.metadata, OFFSETS_TOPIC):
        await after_creation(broker.topics, OFFSETS_TOPIC, lambda: None, broker.log)
    try:
        guard = await _verified(request, context)
        by_id = context.api_version >= BY_ID_SINCE
        gone = take_out_deleted(commits, broker.metadata.topics, by_id=by_id)
        for key, code in gone.items():
            for answer in answers.pop(key):
                answer.error_code = int(code)
        if not commits:
            return ErrorCode.NONE
        return await _written(request, commits, guard, context)
    except ApiError as error:
        return error.code


async def _verified(
    request: TxnOffsetCommitRequest, context: RequestContext
) -> VerificationGuard | None:
    """The guard to write with, if there has to be one. Raises ApiError."""
    broker = context.broker
    partition = broker.groups.partition_for_offsets(request.group_id)
    kind = ClientKind.at(
        context.api_version, abortable_since=ABORTABLE_SINCE, adds_since=ADDS_SINCE
    )
    beginning = Beginning(partition, NO_SEQUENCE)
    beginnings = Beginnings(
        request.producer_id, request.producer_epoch, [beginning], adds=kind.adds
    )
    beginnings.begin(broker.clock.now_ms())
    if beginnings.guards and broker.verifier.is_needed(kind):
        refused = await broker.verifier.verify(request.transactional_id, beginnings, kind)
        if code := refused.get(partition.key):
            raise ApiError(TOLD.get(code, code))
    return beginnings.guards.get(partition.key)


async def _written(
    request: TxnOffsetCommitRequest,
    commits: Commits,
    guard: VerificationGuard | None,
    context: RequestContext,
) -> ErrorCode:
    from barnabas.server.groups.commits import Committer, TransactionOf

    outcome: Deferred[ErrorCode] = Deferred()
    committer = Committer(
        request.generation_id_or_member_epoch, request.member_id, request.group_instance_id
    )
    transaction = TransactionOf(request.producer_id, request.producer_epoch, guard)
    context.broker.groups.commit_in_transaction(
        request.group_id, committer, transaction, commits, outcome.give
    )
    return await given(outcome)


def _sort_out(
    request: TxnOffsetCommitRequest, context: RequestContext, response: TxnOffsetCommitResponse
) -> Steps[tuple[Commits, Answers]]:
    """The offsets to store, and the answers that wait for that; the refused are answered."""
    metadata = context.broker.metadata
    limit = context.broker.config.offset_metadata_max_bytes
    now_ms = context.broker.clock.now_ms()
    by_id = context.api_version >= BY_ID_SINCE
    commits: Commits = {}
    answers: Answers = {}
    for topic in request.topics:
        name = metadata.name_of(topic.topic_id) if by_id else topic.name
        known = metadata.topics.get(name) if name is not None else None
        topic_answer = TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(topic_answer)
        yield
        for partition in topic.partitions:
            yield
            answer = TxnOffsetCommitResponsePartition(partition_index=partition.partition_index)
            topic_answer.partitions.append(answer)
            index, text = partition.partition_index, partition.committed_metadata
            refusal = commit_refusal(known, index, text, limit)
            if name is None:
                answer.error_code = int(ErrorCode.UNKNOWN_TOPIC_ID)
            elif known is None or refusal is not ErrorCode.NONE:
                answer.error_code = int(refusal)
            else:
                commits[name, index] = _committed(partition, now_ms)
                commits[name, index].topic_id = known.topic_id
                answers.setdefault((name, index), []).append(answer)
    return commits, answers


def _committed(partition: TxnOffsetCommitRequestPartition, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        now_ms,
    )


def _report(answers: Answers, code: ErrorCode, context: RequestContext) -> None:
    is_old = context.api_version < KNOWS_LOADING_SINCE
    if is_old and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for answer in chain.from_iterable(answers.values()):
        answer.error_code = int(code)


def refuse(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    """Every partition answers the error."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=int(code)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
