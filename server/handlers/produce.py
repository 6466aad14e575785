"""Produce: append record batches to partitions this broker leads.

* v0-v2 carry message sets in the old formats, converted to the topic's; from v3 exactly one
  batch of format 2 per partition, else INVALID_RECORD. zstd before v7: error 76 (KIP-110).
* acks: 0 is never answered, a failure closes the connection; 1 when the leader has written;
  -1 when all in-sync replicas have. Anything else: INVALID_REQUIRED_ACKS.
* v8: errors name records (KIP-467). v10: a leader that moved is named (KIP-951).
* A transactional batch needs a transactional id in the request, and its partition must be part of
  the transaction: the coordinator is asked where no transaction of the producer is open yet. v11:
  TRANSACTION_ABORTABLE if it is not. v12: the write makes it part (KIP-890).
* v13: topics by id (KIP-516).
"""

from collections.abc import Coroutine, Iterator
from functools import partial
from typing import Any, Final

from barnabas.server.cluster.metadata import INTERNAL_TOPICS
from barnabas.server.cluster.moved_leaders import MOVED, current_leader, node_endpoints
from barnabas.server.core.delayed import Wait
from barnabas.server.core.errors import ApiError, code_of, is_expected, message_of
from barnabas.server.core.turns import Sliced, Steps
from barnabas.server.handlers import Versions
from barnabas.server.network.outcomes import Close
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.unsettled_appends import UnsettledAppends
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.appends import Verified, unverified, verify
from barnabas.server.transactions.verification import Beginnings, ClientKind
from barnabas.storage.append.rules import ValidatedRecords
from barnabas.storage.batch.header import TRANSACTIONAL, Buffer
from barnabas.storage.errors import (
    InvalidRecord,
    InvalidTransactionState,
    MixedFormats,
    RecordTooLarge,
    StorageError,
    WrongChecksum,
    WrongOffsets,
)
from barnabas.storage.log.in_steps import TakesLong
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

VERSIONS = Versions(0, 13)
ADMIN_CLIENT: Final = "__admin_client"  # the only client id that may write to internal topics

ABORTABLE_SINCE: Final = 11
ADDS_SINCE: Final = 12
OPEN_ALREADY: Final = Verified({}, {})
"""Of a transaction that is open in every partition that is written to."""
LAST_ATTRIBUTE: Final = 22
"""Where a batch of format 2 says, by the bit `TRANSACTIONAL`, that it belongs to a transaction."""

MANY_PARTITIONS: Final = 64  # above that, or above so many bytes in several, it is done in steps
MANY_BYTES: Final = 2 << 20

EXPECTED: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)  # refusals that Kafka does not count as failed requests

Silent = ProduceResponse | Close | None
Answer = Silent | Wait[Silent]
Appended = list[tuple[Partition, PartitionProduceResponse, int, int]]
"""Partitions, their answers, the offset behind what each got, and since when it was led."""
Answers = list[PartitionProduceResponse]
Checked = ValidatedRecords | StorageError | ApiError | None
"""What looking into a partition's records has come to; None: it has not been done."""


def handle(
    request: ProduceRequest, context: RequestContext
) -> Answer | Sliced[Answer] | Coroutine[Any, Any, Answer | Sliced[Answer]]:
    """Append everything, then wake who waits for it, then answer (acks=-1: once replicated)."""
    acks = request.acks
    if acks not in (-1, 0, 1):
        return Sliced(_refuse_acks(request, context))
    verified: Verified | None = None
    if request.transactional_id is not None:
        kind = ClientKind.at(
            context.header.api_version, abortable_since=ABORTABLE_SINCE, adds_since=ADDS_SINCE
        )
        asked = unverified(_batches(request, context), kind, context.broker.clock.now_ms())
        if asked is not None:
            return _verify_first(request, context, asked, kind)
        verified = OPEN_ALREADY
    return _serve(request, context, verified)


async def _verify_first(
    request: ProduceRequest, context: RequestContext, asked: Beginnings, kind: ClientKind
) -> Answer | Sliced[Answer]:
    verifier = context.broker.verifier
    verified = await verify(verifier, request.transactional_id or "", asked, kind)
    return _serve(request, context, verified)


def _batches(
    request: ProduceRequest, context: RequestContext
) -> Iterator[tuple[Partition, memoryview]]:
    """What is to be written, as far as there is a partition for it."""
    by_id = context.header.api_version >= 13
    broker = context.broker
    for topic in request.topics:
        name = broker.metadata.name_of(topic.topic_id) if by_id else topic.name
        for data in topic.partitions:
            partition = broker.replicas.find(name or "", data.index)
            if partition is not None and partition.is_leader and data.records is not None:
                yield partition, memoryview(data.records)


def _serve(
    request: ProduceRequest, context: RequestContext, verified: Verified | None
) -> Answer | Sliced[Answer]:
    acks = request.acks
    appended: Appended = []
    response = ProduceResponse()
    if _is_large(request):
        return Sliced(_append_in_steps(request, context, response, appended, verified))
    broker = context.broker
    now_ms = broker.clock.now_ms()
    try:
        for topic in request.topics:
            answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            response.responses.append(answer)
            answers = answer.partition_responses
            _append_topic(
                topic, topic.partitions, answers, acks, context, now_ms, appended, verified
            )
    except TakesLong:
        return Sliced(_append_in_steps(request, context, response, appended, verified))
    settled = True
    for partition, _, end_offset, _ in appended:
        broker.fetches.complete(partition.key)
        settled = settled and partition.is_settled(end_offset, acks)
    if settled:
        return _unless_silent(response, request, context)
    return _when_settled(response, appended, request, context)


def _refuse_acks(request: ProduceRequest, context: RequestContext) -> Steps[Answer]:
    """Every partition answers that there are no such acks."""
    response = ProduceResponse()
    for topic in request.topics:
        answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        response.responses.append(answer)
        for data in topic.partitions:
            answer.partition_responses.append(_refusal(data, ErrorCode.INVALID_REQUIRED_ACKS))
            yield
        yield
    return _unless_silent(response, request, context)


def _is_large(request: ProduceRequest) -> bool:
    topics = request.topics
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return False
    partitions = size_bytes = 0
    for topic in topics:
        partitions += 1 + len(topic.partitions)
        for data in topic.partitions:
            size_bytes += len(data.records or b"")
    return partitions > MANY_PARTITIONS or size_bytes > MANY_BYTES


def _append_in_steps(
    request: ProduceRequest,
    context: RequestContext,
    response: ProduceResponse,
    appended: Appended,
    verified: Verified | None,
) -> Steps[Answer]:
    """The same for many partitions, many bytes in several, or what takes long to validate.

    What `response` answers already has been done; the rest is, one after the other.
    """
    broker = context.broker
    for number, topic in enumerate(request.topics):
        if number == len(response.responses):
            empty = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            response.responses.append(empty)
        answers = response.responses[number].partition_responses
        for data in topic.partitions[len(answers) :]:
            yield from _append_one(topic, data, answers, request.acks, context, appended, verified)
            yield
        yield
    settled = True
    for partition, _, end_offset, led_since in appended:
        broker.fetches.complete(partition.key)
        settled = settled and partition.is_settled(end_offset, request.acks)
        if request.acks == -1:  # else it is safe as soon as it is written
            settled = settled and partition.has_led_since(led_since)
        yield
    if settled:
        return _unless_silent(response, request, context)
    return _when_settled(response, appended, request, context)


def _append_one(
    topic: TopicProduceData,
    data: PartitionProduceData,
    answers: Answers,
    acks: int,
    context: RequestContext,
    appended: Appended,
    verified: Verified | None,
) -> Steps[None]:
    """Append to one partition; what takes long is validated in steps."""
    now_ms = context.broker.clock.now_ms()
    try:
        _append_topic(topic, [data], answers, acks, context, now_ms, appended, verified)
    except TakesLong:
        checked = yield from _checked(topic, data, context, now_ms)
        _append_topic(
            topic, [data], answers, acks, context, now_ms, appended, verified, True, checked
        )


def _checked(
    topic: TopicProduceData, data: PartitionProduceData, context: RequestContext, now_ms: int
) -> Steps[Checked]:
    version = context.header.api_version
    broker = context.broker
    name = topic.name if version < 13 else broker.metadata.name_of(topic.topic_id)
    partition = broker.replicas.require(name or "", data.index)
    try:
        valid = yield from partition.log.appender.validate_in_steps(
            data.records,  # type: ignore[arg-type]  # a view of the frame, as below
            now_ms,
            one_v2_batch=version >= 3,
            allow_zstd=version >= 7,
        )
    except StorageError as error:
        return error
    if broker.replicas.find(*partition.key) is not partition:
        # Another topic's may bear the name, for whose settings nothing has been looked into.
        return ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return valid


def _append_topic(
    topic: TopicProduceData,
    partitions: list[PartitionProduceData],
    answers: Answers,
    acks: int,
    context: RequestContext,
    now_ms: int,
    appended: Appended,
    verified: Verified | None,
    at_once: bool = False,
    checked: Checked = None,
) -> None:
    """Append to a topic's partitions and add what became of each to the answers.

    TakesLong at the first that is to be validated in steps, unless it must be done at once.
    """
    # One function for speed: this is the inner loop of a broker that gets small requests.
    version = context.header.api_version
    broker = context.broker
    name = topic.name if version < 13 else broker.metadata.name_of(topic.topic_id)
    for data in partitions:
        records = data.records
        guard = None
        try:
            if name is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
            if name in INTERNAL_TOPICS and context.header.client_id != ADMIN_CLIENT:
                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            partition = broker.replicas.require(name, data.index)
            if records is None:
                raise InvalidRecord("no records")
            if verified is not None:
                guard = verified.guard_of(name, data.index)
            elif version >= 3 and _is_transactional(records):
                raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            if isinstance(checked, (ApiError, StorageError)):
                raise checked
            info = partition.append(
                records,  # type: ignore[arg-type]  # a request's records are a view of its frame
                acks,
                now_ms,
                one_v2_batch=version >= 3,
                allow_zstd=version >= 7,
                verification_guard=guard,
                at_once=at_once,
                validated=checked,
            )
        except (ApiError, StorageError) as error:
            refusal = _unless_unasked(error, guard, records)
            answer = PartitionProduceResponse(index=data.index, base_offset=-1)
            _report(answer, refusal, name, context)
            _count_refusal(refusal, name, len(records or b""), context)
        else:
            answer = PartitionProduceResponse(
                index=data.index,
                base_offset=info.first_offset,
                log_append_time_ms=info.log_append_time_ms,
                log_start_offset=info.log_start_offset,
            )
            counts = partition.counts
            counts.total_produce_requests += 1
            counts.messages_in += info.record_count
            counts.bytes_in += len(records)
            if info.converted_count:
                counts.produce_message_conversions += info.converted_count
            appended.append((partition, answer, info.last_offset + 1, partition.led_since))
        answers.append(answer)


def _unless_unasked(
    error: Exception, guard: VerificationGuard | None, records: Buffer | None
) -> Exception:
    """A refusal; of a batch whose transaction nobody was asked about, that it is to come again.

    When the others were asked about, the partition was not led here, or had its transaction open.
    """
    if isinstance(error, InvalidTransactionState) and guard is None and _is_transactional(records):
        return ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return error


def _is_transactional(records: Buffer | None) -> bool:
    if records is None or len(records) <= LAST_ATTRIBUTE:
        return False
    return records[LAST_ATTRIBUTE] & TRANSACTIONAL != 0


def _report(
    answer: PartitionProduceResponse, error: Exception, name: str | None, context: RequestContext
) -> None:
    """Fill the answer of a partition that was refused."""
    code = code_of(error)
    answer.error_code = int(code)
    if context.api_version >= 8 and is_expected(error):
        answer.error_message = message_of(error)
        if isinstance(error, InvalidRecord):
            answer.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=text)
                for index, text in error.record_errors
            ]
    if context.api_version >= 10 and code in MOVED and name is not None:
        answer.current_leader = current_leader(
            LeaderIdAndEpoch, context.broker.metadata, name, answer.index
        )


def _count_refusal(
    error: Exception, name: str | None, size_bytes: int, context: RequestContext
) -> None:
    """Count what was refused; a request has failed only by what a broker need not expect."""
    counts = context.broker.metrics.topics.get(name or "")
    if counts is None:
        return
    counts.total_produce_requests += 1
    if code_of(error) not in EXPECTED:
        counts.failed_produce_requests += 1
    if isinstance(error, RecordTooLarge):
        counts.bytes_rejected += size_bytes
    elif isinstance(error, WrongChecksum):
        counts.invalid_message_crc_records += 1
    elif isinstance(error, MixedFormats):
        counts.invalid_magic_number_records += 1
    elif isinstance(error, WrongOffsets):
        counts.invalid_offset_or_sequence_records += 1
    elif isinstance(error, InvalidRecord):
        counts.no_key_compacted_topic_records += error.keyless_count


def _when_settled(
    response: ProduceResponse, appended: Appended, request: ProduceRequest, context: RequestContext
) -> Wait[Silent]:
    """Wait until every append is flushed and replicated as promised, at most `timeout_ms`."""
    broker = context.broker
    unsettled = UnsettledAppends(
        broker.replicas, [(p, end, since) for p, _, end, since in appended], request.acks
    )

    def answer() -> Silent:
        for partition, part, end, _ in appended:
            failure = unsettled.failure_of(partition, end)
            if failure:
                part.error_code = int(failure)
        return _unless_silent(response, request, context)

    wait = broker.produces.park(unsettled.keys, request.timeout_ms, unsettled.is_ready, answer)
    wait.has_acted = True
    # Behind that: a disk that fails by it takes the partition, and who waits is told.
    for partition, _, end, _ in appended:
        if partition.is_flush_due(end):
            wake = partial(broker.produces.complete, partition.key)
            broker.disks.flush(partition.log, wake)
    return wait


def _unless_silent(
    response: ProduceResponse, request: ProduceRequest, context: RequestContext
) -> Silent:
    """With acks=0 nobody reads an answer; Kafka closes the connection to tell of a failure."""
    if request.acks != 0:
        return _with_endpoints(response, context)
    failed = [p for topic in response.responses for p in topic.partition_responses if p.error_code]
    if failed:
        code = ErrorCode(failed[0].error_code).name
        return Close(f"a produce with acks=0 failed with {code}")
    return None


def _with_endpoints(response: ProduceResponse, context: RequestContext) -> ProduceResponse:
    """Say where the leaders are that the answer names."""
    if context.header.api_version >= 10:
        leaders = (
            p.current_leader for topic in response.responses for p in topic.partition_responses
        )
        response.node_endpoints = node_endpoints(
            NodeEndpoint, context.broker.metadata, context.listener_name, leaders
        )
    return response


def refuse(request: ProduceRequest, code: ErrorCode) -> ProduceResponse | None:
    """Every partition answers the error; with acks=0 there is no answer to say it in."""
    return None if request.acks == 0 else _refused(request, code)


def _refused(request: ProduceRequest, code: ErrorCode) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[_refusal(data, code) for data in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _refusal(data: PartitionProduceData, code: ErrorCode) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=data.index, error_code=int(code), base_offset=-1)
