"""OffsetFetch: read what groups committed.

* v0 reads the registry, at /consumers/<group>/offsets, and has an error for a partition without
  an offset, UNKNOWN_TOPIC_OR_PARTITION; later versions answer offset -1 without an error. Of a
  group that no znode can be named after, INVALID_GROUP_ID.
* v2: null topics ask for all of a group's offsets; an error for the whole group. Before it the
  error of the group stands with every partition (Kafka 3.9 answers no partitions at all, which
  an old client takes for "nothing committed" and starts over).
* v7: with require_stable an offset that an open transaction may replace is refused,
  UNSTABLE_OFFSET_COMMIT (KIP-447). v8: several groups (KIP-709). v10: topics by id (KIP-848).
"""

from collections.abc import Coroutine
from typing import Any

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.context import RequestContext
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.group import Group
from barnabas.server.handlers import Versions
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

VERSIONS = Versions(0, 10)
NO_OFFSET = -1


def handle(
    request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse | Coroutine[Any, Any, OffsetFetchResponse]:
    """Answer for every group asked about."""
    if context.api_version == 0:
        return _fetch_from_registry(request, context)
    if is_first_use(context):
        return after_creation(context, lambda: _fetch_all(request, context))
    return _fetch_all(request, context)


def _fetch_all(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    version = context.api_version
    if version >= 8:
        return OffsetFetchResponse(
            groups=[_fetch(group, request.require_stable, context) for group in request.groups]
        )
    asked = _as_group(request)
    return _as_old(asked, _fetch(asked, request.require_stable, context), version)


def _fetch(
    asked: OffsetFetchRequestGroup, require_stable: bool, context: RequestContext
) -> OffsetFetchResponseGroup:
    answer = OffsetFetchResponseGroup(group_id=asked.group_id)
    try:
        group = context.broker.groups.find_for_offsets(asked.group_id)
    except ApiError as error:
        answer.error_code = int(error.code)
        return answer
    if asked.topics is None:
        answer.topics = _everything(group, require_stable, context)
    else:
        answer.topics = [_topic(topic, group, require_stable, context) for topic in asked.topics]
    return answer


def _everything(
    group: Group | None, require_stable: bool, context: RequestContext
) -> list[OffsetFetchResponseTopics]:
    topics = []
    for name, partitions in group.offsets.by_topic.items() if group else ():
        known = context.broker.metadata.topics.get(name)
        if known is None and context.api_version >= 10:
            continue  # without an id there is no way to name it
        topics.append(
            OffsetFetchResponseTopics(
                name=name,
                partitions=[
                    _partition(group, name, index, require_stable) for index in sorted(partitions)
                ],
            )
        )
        if known is not None:
            topics[-1].topic_id = known.topic_id
    return topics


def _topic(
    asked: OffsetFetchRequestTopics,
    group: Group | None,
    require_stable: bool,
    context: RequestContext,
) -> OffsetFetchResponseTopics:
    name: str | None = asked.name
    if context.api_version >= 10:
        name = context.broker.metadata.name_of(asked.topic_id)
    answer = OffsetFetchResponseTopics(name=asked.name, topic_id=asked.topic_id)
    for index in asked.partition_indexes:
        if name is None:
            answer.partitions.append(_without_offset(index, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            answer.partitions.append(_partition(group, name, index, require_stable))
    return answer


def _partition(
    group: Group | None, topic: str, index: int, require_stable: bool
) -> OffsetFetchResponsePartitions:
    if group is None:
        return _without_offset(index)
    if require_stable and group.offsets.is_unstable(topic, index):
        return _without_offset(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    committed = group.offsets.get(topic, index)
    if committed is None:
        return _without_offset(index)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _without_offset(index: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=NO_OFFSET,
        metadata="",
        error_code=int(error),
    )


# Versions below 8 ask for one group.


def _as_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = request.topics
    return OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes)
            for t in topics
        ],
    )


def _as_old(
    asked: OffsetFetchRequestGroup, answer: OffsetFetchResponseGroup, version: int
) -> OffsetFetchResponse:
    topics = answer.topics
    if answer.error_code and version < 2:
        error = ErrorCode(answer.error_code)
        topics = [
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[_without_offset(index, error) for index in topic.partition_indexes],
            )
            for topic in asked.topics or []
        ]
    return OffsetFetchResponse(
        error_code=answer.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name, partitions=[_as_old_partition(p) for p in topic.partitions]
            )
            for topic in topics
        ],
    )


def _as_old_partition(partition: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=partition.partition_index,
        committed_offset=partition.committed_offset,
        committed_leader_epoch=partition.committed_leader_epoch,
        metadata=partition.metadata,
        error_code=partition.error_code,
    )


async def _fetch_from_registry(
    request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse:
    topics = request.topics or []
    asked = [(topic.name, index) for topic in topics for index in topic.partition_indexes]
    metadata = context.broker.metadata
    known = [key for key in asked if metadata.partition(*key) is not None]
    consumers = context.broker.registry.consumers
    if not consumers.may_have_group(request.group_id):
        return _as_old(_as_group(request), _refused(request.group_id), 0)
    offsets = await consumers.read_offsets(request.group_id, known)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    _from_registry(index, offsets.get((topic.name, index)))
                    for index in topic.partition_indexes
                ],
            )
            for topic in topics
        ]
    )


def _refused(group_id: str) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group_id=group_id, error_code=int(ErrorCode.INVALID_GROUP_ID))


def _from_registry(index: int, offset: int | None) -> OffsetFetchResponsePartition:
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=NO_OFFSET if offset is None else offset,
        metadata="",
        error_code=unknown if offset is None else 0,
    )


def refuse(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """Every group answers the error."""
    return OffsetFetchResponse(
        error_code=int(code),
        groups=[
            OffsetFetchResponseGroup(group_id=group.group_id, error_code=int(code))
            for group in request.groups
        ],
    )
