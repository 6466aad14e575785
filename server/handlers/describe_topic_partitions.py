"""DescribeTopicPartitions: topics in order of their names, a page at a time (KIP-966).

* No topics asked for means all of them. A page holds as many partitions as the request and
  `max.request.partition.size.limit` allow, one at the least; the cursor says where the next one
  begins, and must be among the topics asked for.
* There are no eligible leader replicas here, as on a cluster without that feature.
"""

from collections.abc import Iterable

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import name_fault
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import TOPIC_OPERATIONS, Resource, ResourceKind
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_topic_partitions import (
    CursorResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

VERSIONS = Versions(0, 0)


def handle(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> Sliced[DescribeTopicPartitionsResponse]:
    """Fill one page."""
    return Sliced(_page(request, context))


def _page(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> Steps[DescribeTopicPartitionsResponse]:
    names = _names(request, context)
    most = context.broker.config.max_request_partition_size_limit
    room = max(1, min(most, request.response_partition_limit))
    cursor = request.cursor
    response = DescribeTopicPartitionsResponse()
    for name in names:
        yield
        first = cursor.partition_index if cursor and cursor.topic_name == name else 0
        if room == 0:
            response.next_cursor = CursorResponse(topic_name=name, partition_index=first)
            break
        topic = context.broker.metadata.topics.get(name)
        if topic is None:
            if request.topics:  # else it has gone since all of them were listed
                response.topics.append(_unknown(name, context))
            continue
        page = topic.partitions[first : first + room]
        response.topics.append((yield from _topic(topic, page, context)))
        room -= len(page)
        if first + len(page) < len(topic.partitions):
            following = first + len(page)
            response.next_cursor = CursorResponse(topic_name=name, partition_index=following)
            break
    return response


def _names(request: DescribeTopicPartitionsRequest, context: RequestContext) -> list[str]:
    """The topics from the cursor on. Raises ApiError INVALID_REQUEST for a senseless cursor."""
    names = {topic.name for topic in request.topics} or set(context.broker.metadata.topics)
    cursor = request.cursor
    if cursor is None:
        return sorted(names)
    if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    return sorted(name for name in names if name >= cursor.topic_name)


def _topic(
    topic: TopicInfo, page: Iterable[PartitionInfo], context: RequestContext
) -> Steps[DescribeTopicPartitionsResponseTopic]:
    partitions = yield from each(page, _partition)
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=partitions,
        topic_authorized_operations=_operations(topic.name, context),
    )


def _partition(info: PartitionInfo) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=0 if info.leader_id >= 0 else int(ErrorCode.LEADER_NOT_AVAILABLE),
        partition_index=info.index,
        leader_id=info.leader_id,
        leader_epoch=info.leader_epoch,
        replica_nodes=list(info.replicas),
        isr_nodes=list(info.isr),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=list(info.offline),
    )


def _operations(name: str, context: RequestContext) -> int:
    return context.authorized(TOPIC_OPERATIONS, Resource(ResourceKind.TOPIC, name))


def _unknown(name: str, context: RequestContext) -> DescribeTopicPartitionsResponseTopic:
    fault = name_fault(name)
    code = fault.code if fault else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeTopicPartitionsResponseTopic(
        error_code=int(code), name=name, topic_authorized_operations=_operations(name, context)
    )


def refuse(
    request: DescribeTopicPartitionsRequest, code: ErrorCode
) -> DescribeTopicPartitionsResponse:
    """Every topic asked for answers the error."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=int(code), name=topic.name)
            for topic in request.topics
        ]
    )
