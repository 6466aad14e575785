"""DeleteTopics: mark each topic, wait until the controller has removed it.

* Unknown topics are refused one by one; v6 names topics by id as well (KIP-516), an unknown
  id is UNKNOWN_TOPIC_ID, and a name together with an id INVALID_REQUEST for the whole request.
* A topic that is named twice is INVALID_REQUEST, and stays.
* With `delete.topic.enable` false: TOPIC_DELETION_DISABLED, before v3 INVALID_REQUEST (KIP-322).
* A broker that is not the controller: NOT_CONTROLLER, as with ZooKeeper.
* What is not gone within `timeout_ms` answers REQUEST_TIMED_OUT and goes all the same; with a
  timeout of 0 everything does.
"""

from collections import Counter

from barnabas.server.core.errors import REFUSALS, ApiError, code_of, message_of
from barnabas.server.core.turns import each, together
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.wire.uuids import ZERO_UUID

VERSIONS = Versions(0, 6)


async def handle(request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    """Mark all of them, then wait for all of them; the controller's task."""
    if not context.broker.controller.is_active:
        return refuse(request, ErrorCode.NOT_CONTROLLER)
    clock, topics = context.broker.clock, context.broker.topics
    deadline_ms = clock.monotonic_ms() + request.timeout_ms
    pauses = context.broker.turns.pauses()
    wanted = _wanted(request, context)
    fault = _fault_of_all(wanted)
    results = await context.broker.turns.run(each(wanted, lambda one: _result(one, fault, context)))
    _refuse_repeated(results)
    known = [result for result in results if not result.error_code]
    await together(pauses, (_mark(result, context) for result in known))
    for result in known:
        await pauses.pause()
        if result.error_code:
            continue
        remaining_ms = deadline_ms - clock.monotonic_ms()
        name, topic_id = str(result.name), result.topic_id
        gone = await topics.wait_until_deleted(name, remaining_ms, topic_id)
        if request.timeout_ms <= 0 or not gone:
            _refuse_topic(result, ApiError(ErrorCode.REQUEST_TIMED_OUT))
    return DeleteTopicsResponse(responses=results)


def _wanted(request: DeleteTopicsRequest, context: RequestContext) -> list[DeleteTopicState]:
    if context.api_version < 6:
        return [DeleteTopicState(name=n, topic_id=ZERO_UUID) for n in request.topic_names]
    return request.topics


def _fault_of_all(wanted: list[DeleteTopicState]) -> ApiError | None:
    """One topic that is named in both ways refuses them all."""
    if any(topic.name is not None and topic.topic_id != ZERO_UUID for topic in wanted):
        both = "Topic name and topic ID can not both be specified."
        return ApiError(ErrorCode.INVALID_REQUEST, both)
    return None


def _result(
    wanted: DeleteTopicState, fault_of_all: ApiError | None, context: RequestContext
) -> DeletableTopicResult:
    """The answer as far as it is known before anything is deleted."""
    result = DeletableTopicResult(name=wanted.name, topic_id=wanted.topic_id)
    try:
        if fault_of_all is not None:
            raise fault_of_all
        _check_enabled(context)
        if wanted.name is None and wanted.topic_id == ZERO_UUID:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        metadata = context.broker.metadata
        topic = metadata.topic_named_or_known(wanted.name, wanted.topic_id)
        result.name, result.topic_id = topic.name, topic.topic_id
    except ApiError as error:
        _refuse_topic(result, error)
    return result


def _refuse_repeated(results: list[DeletableTopicResult]) -> None:
    """A topic that is named twice, by whatever, is not deleted, as with KRaft."""
    counts = Counter(result.name for result in results if not result.error_code)
    for result in results:
        if not result.error_code and counts[result.name] > 1:
            _refuse_topic(result, ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))


async def _mark(result: DeletableTopicResult, context: RequestContext) -> None:
    """Mark one topic for the controller, or say in the result why that cannot be.

    Not one that has been made under the name since the request came.
    """
    try:
        await context.broker.topics.mark_for_deletion(str(result.name), result.topic_id)
    except REFUSALS as error:
        _refuse_topic(result, error)


def _check_enabled(context: RequestContext) -> None:
    if context.broker.config.delete_topic_enable:
        return
    if context.api_version < 3:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED)


def _refuse_topic(result: DeletableTopicResult, error: Exception) -> None:
    result.error_code, result.error_message = int(code_of(error)), message_of(error)


def refuse(request: DeleteTopicsRequest, code: ErrorCode) -> DeleteTopicsResponse:
    """Every topic answers the error."""
    wanted = request.topics or [
        DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names
    ]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=each.name, topic_id=each.topic_id, error_code=int(code))
            for each in wanted
        ]
    )
