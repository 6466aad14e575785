"""CreateTopics: plan each topic, write it into the registry, wait until it is served.

* A topic's refusal is its own; the others are created. One that is named twice in a request is
  refused INVALID_REQUEST. `validate_only` (v1) plans and creates nothing.
* More than 10,000 partitions in all: every topic is refused POLICY_VIOLATION, as with KRaft.
* -1 partitions or replicas take the broker's defaults (KIP-464); the broker does not look at
  the version for that, as Kafka's does not.
* A topic that is created but not served within `timeout_ms` answers REQUEST_TIMED_OUT; with a
  timeout of 0 every one does.
* A broker that is not the controller: NOT_CONTROLLER, as with ZooKeeper.
* v5: the new topic's shape and settings (KIP-525). v7: its id (KIP-516).
"""

from collections import Counter
from functools import partial

from barnabas.server.cluster.new_topics import (
    NewTopic,
    WantedTopic,
    check_partition_count,
    partition_count,
    plan_topic,
)
from barnabas.server.core.errors import REFUSALS, ApiError, code_of, message_of
from barnabas.server.core.turns import each, together
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.settings.describe import describe_topic
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

VERSIONS = Versions(0, 7)


async def handle(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    """Create all of them at once, then wait for all of them; the controller's task."""
    if not context.broker.controller.is_active:
        return refuse(request, ErrorCode.NOT_CONTROLLER)
    clock = context.broker.clock
    deadline_ms = clock.monotonic_ms() + request.timeout_ms
    turns, config = context.broker.turns, context.broker.config
    named = Counter(topic.name for topic in request.topics)
    results = await turns.run(each(request.topics, _no_result))
    counts = await turns.run(each(request.topics, lambda t: partition_count(_wanted(t), config)))
    try:
        check_partition_count(sum(counts))
    except ApiError as error:
        await turns.run(each(results, partial(_refuse_topic, error=error)))
        return CreateTopicsResponse(topics=results)
    pauses = turns.pauses()
    plans = await together(
        pauses,
        (
            _create(topic, result, named[topic.name] == 1, request, context)
            for topic, result in zip(request.topics, results, strict=True)
        ),
    )
    for plan, result in zip(plans, results, strict=True):
        await pauses.pause()
        if plan is None:
            continue
        remaining_ms = deadline_ms - clock.monotonic_ms()
        if request.validate_only or await _is_served(plan, remaining_ms, request, context):
            _describe(plan, result, context)
        else:
            _refuse_topic(result, ApiError(ErrorCode.REQUEST_TIMED_OUT))
    return CreateTopicsResponse(topics=results)


def _no_result(topic: CreatableTopic) -> CreatableTopicResult:
    return CreatableTopicResult(name=topic.name, error_message=None)


async def _create(
    topic: CreatableTopic,
    result: CreatableTopicResult,
    is_named_once: bool,
    request: CreateTopicsRequest,
    context: RequestContext,
) -> NewTopic | None:
    """Write one topic into the registry; None if it is refused, which the result then says."""
    broker = context.broker
    try:
        if not is_named_once:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
        if len({each.partition_index for each in topic.assignments}) < len(topic.assignments):
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "Found multiple manual partition assignments for the same partition.",
            )
        plan = plan_topic(_wanted(topic), broker.topics, broker.metadata, broker.config)
        if not request.validate_only:
            topic_id = await broker.topics.create(plan.name, plan.replicas, plan.settings)
            if topic_id is not None:
                result.topic_id = topic_id
    except REFUSALS as error:
        _refuse_topic(result, error)
        return None
    return plan


async def _is_served(
    plan: NewTopic, remaining_ms: float, request: CreateTopicsRequest, context: RequestContext
) -> bool:
    """Wait until every partition has a leader that clients can be told of."""
    if request.timeout_ms <= 0:
        return False
    count = len(plan.replicas)
    return await context.broker.topics.wait_until_served(plan.name, remaining_ms, count)


def _wanted(topic: CreatableTopic) -> WantedTopic:
    return WantedTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        {each.partition_index: each.broker_ids for each in topic.assignments},
        {each.name: each.value for each in topic.configs},
    )


def _describe(plan: NewTopic, result: CreatableTopicResult, context: RequestContext) -> None:
    if context.api_version < 5:
        return
    result.num_partitions = len(plan.replicas)
    result.replication_factor = plan.replication_factor
    result.configs = [
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=int(entry.source),
            is_sensitive=entry.is_sensitive,
        )
        for entry in describe_topic(context.broker.config, plan.settings)
    ]


def _refuse_topic(result: CreatableTopicResult, error: Exception) -> None:
    result.error_code, result.error_message = int(code_of(error)), message_of(error)


def refuse(request: CreateTopicsRequest, code: ErrorCode) -> CreateTopicsResponse:
    """Every topic answers the error."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=int(code), error_message=None)
            for topic in request.topics
        ]
    )
