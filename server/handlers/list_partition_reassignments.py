"""ListPartitionReassignments: which partitions are on their way to other replicas.

* Null asks for all. What does not move, or does not exist, is not in the answer.
* A broker that is not the controller: NOT_CONTROLLER.
"""

from collections.abc import Iterator

from barnabas.server.controller.control_messages import Told
from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

VERSIONS = Versions(0, 0)


def handle(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> Sliced[ListPartitionReassignmentsResponse]:
    """List those that are asked for."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if not context.broker.controller.is_active:
        raise ApiError(ErrorCode.NOT_CONTROLLER)
    return Sliced(_answer(request, context))


def _answer(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> Steps[ListPartitionReassignmentsResponse]:
    topics: dict[str, dict[int, OngoingPartitionReassignment]] = {}
    for each in _asked(request, context):
        yield
        if each is not None and (each.adding or each.removing):
            topics.setdefault(each.topic, {})[each.partition] = OngoingPartitionReassignment(
                partition_index=each.partition,
                replicas=list(each.replicas),
                adding_replicas=list(each.adding),
                removing_replicas=list(each.removing),
            )
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[
            OngoingTopicReassignment(name=name, partitions=list(partitions.values()))
            for name, partitions in topics.items()
        ],
    )


def _asked(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> Iterator[Told | None]:
    decisions = context.broker.controller.decisions
    if request.topics is None:
        yield from decisions.leading.all_told()
        return
    for topic in request.topics:
        yield None  # there may be many without partitions
        for index in topic.partition_indexes:
            yield decisions.leading.find(topic.name, index)


def refuse(
    request: ListPartitionReassignmentsRequest, code: ErrorCode
) -> ListPartitionReassignmentsResponse:
    """The whole answers the error."""
    return ListPartitionReassignmentsResponse(error_code=int(code), error_message=None)
