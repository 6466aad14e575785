"""OffsetDelete: delete a group's offsets of topics that nobody in it reads (KIP-496)."""

from barnabas.server.context import RequestContext
from barnabas.server.handlers import Versions
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

VERSIONS = Versions(0, 0)


def handle(request: OffsetDeleteRequest, context: RequestContext) -> OffsetDeleteResponse:
    """Unknown partitions and topics in use are refused alone."""
    metadata = context.broker.metadata
    wanted = [
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
        if metadata.partition(topic.name, partition.partition_index) is not None
    ]
    results = context.broker.groups.delete_offsets(request.group_id, wanted)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=int(
                            results.get(
                                (topic.name, partition.partition_index),
                                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                            )
                        ),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
