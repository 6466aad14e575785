"""CreatePartitions: raise the partition count of topics, then wait until the new ones are served.

* `count` is the new total; it never shrinks. Manual assignments name the replicas of the new
  partitions alone. `validate_only` judges and writes nothing.
* More than 10,000 new partitions in all: POLICY_VIOLATION (our own bound, that of CreateTopics).
* A broker that is not the controller: NOT_CONTROLLER, as with ZooKeeper.
* A topic that is named twice: INVALID_REQUEST. What is not served within `timeout_ms`, and with
  a timeout of 0 everything: REQUEST_TIMED_OUT, though the partitions are made.
"""

from collections import Counter

from barnabas.server.cluster.new_topics import check_partition_count
from barnabas.server.core.errors import REFUSALS, ApiError, code_of, message_of
from barnabas.server.core.turns import each, together
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

VERSIONS = Versions(0, 3)


async def handle(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse:
    """Grow all of them at once, then wait for all of them; the controller's task."""
    if not context.broker.controller.is_active:
        return refuse(request, ErrorCode.NOT_CONTROLLER)
    clock, topics = context.broker.clock, context.broker.topics
    deadline_ms = clock.monotonic_ms() + request.timeout_ms
    named = Counter(topic.name for topic in request.topics)
    turns = context.broker.turns
    made = await turns.run(each(named, lambda name: CreatePartitionsTopicResult(name=name)))
    results = {result.name: result for result in made}
    try:
        added = await turns.run(each(request.topics, lambda topic: _added(topic, context)))
        check_partition_count(sum(added))
    except ApiError as error:
        for result in results.values():
            _refuse_topic(result, error)
        return CreatePartitionsResponse(results=list(results.values()))
    for name, count in named.items():
        if count > 1:
            refusal = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
            _refuse_topic(results[name], refusal)
    wanted = [topic for topic in request.topics if named[topic.name] == 1]
    pauses = turns.pauses()
    await together(
        pauses,
        (_grow(topic, results[topic.name], request.validate_only, context) for topic in wanted),
    )
    for topic in () if request.validate_only else wanted:
        await pauses.pause()
        if results[topic.name].error_code:
            continue
        remaining_ms = deadline_ms - clock.monotonic_ms()
        served = await topics.wait_until_served(topic.name, remaining_ms, topic.count)
        if request.timeout_ms <= 0 or not served:
            _refuse_topic(results[topic.name], ApiError(ErrorCode.REQUEST_TIMED_OUT))
    return CreatePartitionsResponse(results=list(results.values()))


def _added(topic: CreatePartitionsTopic, context: RequestContext) -> int:
    """How many partitions a topic is to get; 0 for one that cannot."""
    known = context.broker.metadata.topics.get(topic.name)
    return 0 if known is None else max(0, topic.count - len(known.partitions))


async def _grow(
    topic: CreatePartitionsTopic,
    result: CreatePartitionsTopicResult,
    validate_only: bool,
    context: RequestContext,
) -> None:
    """Write one topic's new partitions into the registry, or its refusal into the result."""
    manual = topic.assignments
    replicas = None if manual is None else [each.broker_ids for each in manual]
    try:
        await context.broker.topics.add_partitions(
            topic.name, topic.count, replicas, validate_only=validate_only
        )
    except REFUSALS as error:
        _refuse_topic(result, error)


def _refuse_topic(result: CreatePartitionsTopicResult, error: Exception) -> None:
    result.error_code, result.error_message = int(code_of(error)), message_of(error)


def refuse(request: CreatePartitionsRequest, code: ErrorCode) -> CreatePartitionsResponse:
    """Every topic answers the error."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=int(code))
            for topic in request.topics
        ]
    )
