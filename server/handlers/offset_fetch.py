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

from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.core.turns import Sliced, each
from barnabas.server.groups.group import Group
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
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
Answer = OffsetFetchResponse | Sliced[OffsetFetchResponse]


def handle(
    request: OffsetFetchRequest, context: RequestContext
) -> Answer | Coroutine[Any, Any, Answer]:
    """Answer for every group asked about."""
    if context.api_version == 0:
        return _fetch_from_registry(request, context)
    if is_first_use(context.broker.metadata, OFFSETS_TOPIC):
        broker = context.broker
        return after_creation(
            broker.topics, OFFSETS_TOPIC, lambda: Sliced(_fetch_all(request, context)), broker.log
        )
    return Sliced(_fetch_all(request, context))


def _fetch_all(request: OffsetFetchRequest, context: RequestContext) -> Steps[OffsetFetchResponse]:
    version = context.api_version
    if version >= 8:
        response = OffsetFetchResponse()
        for group in request.groups:
            response.groups.append((yield from _fetch(group, request.require_stable, context)))
            yield
        return response
    asked = _as_group(request)
    answer = yield from _fetch(asked, request.require_stable, context)
    return (yield from _as_old(asked, answer, version))


def _fetch(
    asked: OffsetFetchRequestGroup, require_stable: bool, context: RequestContext
) -> Steps[OffsetFetchResponseGroup]:
    answer = OffsetFetchResponseGroup(group_id=asked.group_id)
    try:
        group = context.broker.groups.find_for_offsets(asked.group_id)
    except ApiError as error:
        answer.error_code = int(error.code)
        return answer
    if asked.topics is None:
        answer.topics = yield from _everything(group, require_stable, context)
    else:
        for topic in asked.topics:
            answer.topics.append((yield from _topic(topic, group, require_stable, context)))
    return answer


def _everything(
    group: Group | None, require_stable: bool, context: RequestContext
) -> Steps[list[OffsetFetchResponseTopics]]:
    topics: list[OffsetFetchResponseTopics] = []
    for name, partitions in tuple(group.offsets.by_topic.items()) if group else ():
        known = context.broker.metadata.topics.get(name)
        if known is None and context.api_version >= 10:
            continue  # without an id there is no way to name it
        look_up = partial(_partition_still_there, group, name, require_stable)
        answers = yield from each(sorted(partitions), look_up)
        if not (found := [answer for answer in answers if answer is not None]):
            continue
        topics.append(OffsetFetchResponseTopics(name=name, partitions=found))
        if known is not None:
            topics[-1].topic_id = known.topic_id
    return topics


def _partition_still_there(
    group: Group | None, topic: str, require_stable: bool, index: int
) -> OffsetFetchResponsePartitions | None:
    """None for one whose offset has been removed since they were listed."""
    if group is None or group.offsets.get(topic, index) is None:
        return None
    return _partition(group, topic, require_stable, index)


def _topic(
    asked: OffsetFetchRequestTopics,
    group: Group | None,
    require_stable: bool,
    context: RequestContext,
) -> Steps[OffsetFetchResponseTopics]:
    name: str | None = asked.name
    if context.api_version >= 10:
        name = context.broker.metadata.name_of(asked.topic_id)
    answer = OffsetFetchResponseTopics(name=asked.name, topic_id=asked.topic_id)
    yield
    for index in asked.partition_indexes:
        if name is None:
            answer.partitions.append(_without_offset(index, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            answer.partitions.append(_partition(group, name, require_stable, index))
        yield
    return answer


def _partition(
    group: Group | None, topic: str, require_stable: bool, index: int
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
) -> Steps[OffsetFetchResponse]:
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
    response = OffsetFetchResponse(error_code=answer.error_code)
    for topic in topics:
        partitions = yield from each(topic.partitions, _as_old_partition)
        response.topics.append(OffsetFetchResponseTopic(name=topic.name, partitions=partitions))
    return response


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
) -> Sliced[OffsetFetchResponse]:
    consumers = context.broker.registry.consumers
    if not consumers.may_have_group(request.group_id):
        return Sliced(_as_old(_as_group(request), _refused(request.group_id), 0))
    known = await context.broker.turns.run(_known(request, context))
    offsets = await consumers.read_offsets(request.group_id, known)
    return Sliced(_from_registry(request, offsets))


def _known(request: OffsetFetchRequest, context: RequestContext) -> Steps[list[tuple[str, int]]]:
    metadata = context.broker.metadata
    known = []
    for topic in request.topics or []:
        for index in topic.partition_indexes:
            if metadata.partition(topic.name, index) is not None:
                known.append((topic.name, index))
            yield
        yield
    return known


def _from_registry(
    request: OffsetFetchRequest, offsets: Mapping[tuple[str, int], int]
) -> Steps[OffsetFetchResponse]:
    response = OffsetFetchResponse()
    for topic in request.topics or []:
        found = {index: offsets.get((topic.name, index)) for index in topic.partition_indexes}
        partitions = yield from each(topic.partition_indexes, partial(_old_offset, found))
        response.topics.append(OffsetFetchResponseTopic(name=topic.name, partitions=partitions))
    return response


def _refused(group_id: str) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group_id=group_id, error_code=int(ErrorCode.INVALID_GROUP_ID))


def _old_offset(offsets: Mapping[int, int | None], index: int) -> OffsetFetchResponsePartition:
    offset = offsets[index]
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=NO_OFFSET if offset is None else offset,
        metadata="",
        error_code=unknown if offset is None else 0,
    )


def refuse(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """Every group answers the error; before v2 there is only room for it with the partitions."""
    refused = partial(_refused_partition, code)
    return OffsetFetchResponse(
        error_code=int(code),
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name, partitions=list(map(refused, topic.partition_indexes))
            )
            for topic in request.topics or []
        ],
        groups=[
            OffsetFetchResponseGroup(group_id=group.group_id, error_code=int(code))
            for group in request.groups
        ],
    )


def _refused_partition(code: ErrorCode, index: int) -> OffsetFetchResponsePartition:
    return _as_old_partition(_without_offset(index, code))
