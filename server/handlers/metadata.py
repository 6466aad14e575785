"""Metadata: brokers, the controller, topics with their leaders.

* v0: an empty list of topics means all; from v1 null means all and empty means none.
* v4: `allow_auto_topic_creation`; below it creation is always allowed. A topic that is being
  created answers LEADER_NOT_AVAILABLE, as Kafka with ZooKeeper, or when posing as 4.x, whatever
  becomes of it, UNKNOWN_TOPIC_OR_PARTITION, as KRaft; clients retry both.
* v8-v10: authorized operations of the cluster, v8+ of topics, when asked for (KIP-430).
* v10: topics by id; v12 really serves them (KIP-516): an unknown id is UNKNOWN_TOPIC_ID.
* v13: top-level error code; REBOOTSTRAP_REQUIRED is the client's cue to start again (KIP-1102).
"""

from collections.abc import Coroutine
from typing import Any, TypeVar

from barnabas.server.cluster.metadata import INTERNAL_TOPICS, PartitionInfo, TopicInfo
from barnabas.server.cluster.new_topics import MOST_NEW_PARTITIONS
from barnabas.server.core.errors import REFUSALS, ApiError, code_of
from barnabas.server.core.topic_names import name_fault
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import (
    CLUSTER,
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    Resource,
    ResourceKind,
)
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.uuids import ZERO_UUID

VERSIONS = Versions(0, 13)
T = TypeVar("T", bound=MetadataResponseTopic)
RELEASE_OF_KRAFT = 4


def handle(
    request: MetadataRequest, context: RequestContext
) -> Sliced[MetadataResponse | Coroutine[Any, Any, Sliced[MetadataResponse]]]:
    """Answer at once, or create the missing topics first."""
    return Sliced(_begin(request, context))


def _begin(
    request: MetadataRequest, context: RequestContext
) -> Steps[MetadataResponse | Coroutine[Any, Any, Sliced[MetadataResponse]]]:
    wanted = _wanted(request, context)
    missing = yield from _to_create(wanted, request, context)
    if missing:
        return _create_and_answer(missing, wanted, request, context)
    return (yield from _answer(wanted, {}, request, context))


async def _create_and_answer(
    missing: list[str],
    wanted: list[MetadataRequestTopic] | None,
    request: MetadataRequest,
    context: RequestContext,
) -> Sliced[MetadataResponse]:
    failed: dict[str, ErrorCode] = {}
    is_kraft = context.broker.config.release >= RELEASE_OF_KRAFT
    partitions = len(missing) * context.broker.config.num_partitions
    if partitions > MOST_NEW_PARTITIONS:
        failed = dict.fromkeys(missing, ErrorCode.POLICY_VIOLATION)
        return Sliced(_answer(wanted, failed, request, context))
    pauses = context.broker.turns.pauses()
    for name in missing:
        await pauses.pause()
        try:
            await context.broker.topics.auto_create(name)
            failed[name] = ErrorCode.LEADER_NOT_AVAILABLE
        except REFUSALS as error:
            failed[name] = code_of(error)
        if is_kraft:
            failed[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return Sliced(_answer(wanted, failed, request, context))


def _wanted(request: MetadataRequest, context: RequestContext) -> list[MetadataRequestTopic] | None:
    """The topics asked for; None for all of them."""
    if request.topics is None or (context.api_version == 0 and not request.topics):
        return None
    return request.topics


def _to_create(
    wanted: list[MetadataRequestTopic] | None, request: MetadataRequest, context: RequestContext
) -> Steps[list[str]]:
    if not wanted or not context.broker.config.auto_create_topics_enable:
        return []
    if not context.broker.metadata.is_told:  # they may all be there
        return []
    if context.api_version >= 4 and not request.allow_auto_topic_creation:
        return []
    known = context.broker.metadata.topics
    missing: dict[str, None] = {}
    for topic in wanted:
        name = topic.name
        if name and name not in known and name_fault(name) is None:
            missing[name] = None
        yield
    return list(missing)


def _answer(
    wanted: list[MetadataRequestTopic] | None,
    failed: dict[str, ErrorCode],
    request: MetadataRequest,
    context: RequestContext,
) -> Steps[MetadataResponse]:
    metadata = context.broker.metadata
    topics: list[MetadataResponseTopic] = []
    if wanted is None:
        for topic in tuple(metadata.topics.values()):
            topics.append((yield from _topic(topic, request, context)))
            yield
    else:
        for asked in wanted:
            topics.append((yield from _asked_topic(asked, failed, request, context)))
            yield
    response = MetadataResponse(
        cluster_id=metadata.cluster_id,
        controller_id=metadata.shown_controller_id,
        brokers=_brokers(context),
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = context.authorized(CLUSTER_OPERATIONS, CLUSTER)
    return response


def _brokers(context: RequestContext) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(
            node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
        )
        for broker, endpoint in context.broker.metadata.reachable(context.listener_name)
    ]


def _asked_topic(
    asked: MetadataRequestTopic,
    failed: dict[str, ErrorCode],
    request: MetadataRequest,
    context: RequestContext,
) -> Steps[MetadataResponseTopic]:
    name = asked.name
    is_internal = name in INTERNAL_TOPICS
    if name in failed:
        code = int(failed[name])
        return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal)
    is_named = name is not None and (name != "" or asked.topic_id == ZERO_UUID)
    if is_named and name is not None and (fault := name_fault(name)) is not None:
        return MetadataResponseTopic(error_code=int(fault.code), name=name)
    try:
        topic = context.broker.metadata.topic_named_or_known(name, asked.topic_id)
    except ApiError as error:
        code = int(error.code)
        response = MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal)
        if not name:
            response.topic_id = asked.topic_id
        return response
    if asked.topic_id not in (ZERO_UUID, topic.topic_id):
        answer = yield from _described(
            MetadataResponseTopic, topic, _operations(topic, request, context)
        )
        answer.error_code = int(ErrorCode.INCONSISTENT_TOPIC_ID)
        return answer
    return (yield from _topic(topic, request, context))


class _BuiltTopic(MetadataResponseTopic):
    """A topic with its bytes at one version; made once for each state of the topic."""

    __slots__ = ("built",)
    built: bytes


def _topic(
    topic: TopicInfo, request: MetadataRequest, context: RequestContext
) -> Steps[MetadataResponseTopic]:
    operations = _operations(topic, request, context)
    key = context.api_version, request.include_topic_authorized_operations
    kept: MetadataResponseTopic | None = topic.answers.get(key)
    if kept is not None and operations in (None, kept.topic_authorized_operations):
        return kept
    made = yield from _described(_BuiltTopic, topic, operations)
    built = yield from MetadataResponse.at(context.api_version).build_element("topics", made)
    made.built = built
    topic.answers[key] = made
    return made


def _operations(topic: TopicInfo, request: MetadataRequest, context: RequestContext) -> int | None:
    """What may be done to the topic, if that is asked for."""
    if not request.include_topic_authorized_operations:
        return None
    return context.authorized(TOPIC_OPERATIONS, Resource(ResourceKind.TOPIC, topic.name))


def _described(make: type[T], topic: TopicInfo, operations: int | None) -> Steps[T]:
    partitions = yield from each(topic.partitions, _partition)
    response = make(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=partitions,
    )
    if operations is not None:
        response.topic_authorized_operations = operations
    return response


def _partition(info: PartitionInfo) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=0 if info.leader_id >= 0 else int(ErrorCode.LEADER_NOT_AVAILABLE),
        partition_index=info.index,
        leader_id=info.leader_id,
        leader_epoch=info.leader_epoch,
        replica_nodes=list(info.replicas),
        isr_nodes=list(info.isr),
        offline_replicas=list(info.offline),
    )


def refuse(request: MetadataRequest, code: ErrorCode) -> MetadataResponse:
    """Every topic asked for answers the error."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=int(code), name=topic.name or "")
            for topic in request.topics or []
        ],
    )
