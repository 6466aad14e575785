"""OffsetDelete: delete a group's offsets of topics that nobody in it reads (KIP-496)."""

from collections.abc import Mapping
from functools import partial

from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

VERSIONS = Versions(0, 0)


def handle(request: OffsetDeleteRequest, context: RequestContext) -> Sliced[OffsetDeleteResponse]:
    """Unknown partitions and topics in use are refused alone."""
    return Sliced(_delete(request, context))


def _delete(request: OffsetDeleteRequest, context: RequestContext) -> Steps[OffsetDeleteResponse]:
    metadata = context.broker.metadata
    wanted: dict[tuple[str, int], None] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            if metadata.partition(topic.name, partition.partition_index) is not None:
                wanted[topic.name, partition.partition_index] = None
            yield
    results = context.broker.groups.delete_offsets(request.group_id, list(wanted))
    response = OffsetDeleteResponse()
    for topic in request.topics:
        outcome = partial(_outcome, topic.name, results)
        partitions = yield from each(topic.partitions, outcome)
        response.topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return response


def _outcome(
    topic: str,
    results: Mapping[tuple[str, int], ErrorCode],
    partition: OffsetDeleteRequestPartition,
) -> OffsetDeleteResponsePartition:
    index = partition.partition_index
    code = results.get((topic, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return OffsetDeleteResponsePartition(partition_index=index, error_code=int(code))
