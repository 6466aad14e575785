"""ListPartitionReassignments: which partitions are on their way to other replicas.

* Null asks for all. What does not move, or does not exist, is not in the answer.
* A broker that is not the controller: NOT_CONTROLLER.
"""

from functools import partial

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


async def handle(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> Sliced[ListPartitionReassignmentsResponse]:
    """List those that are asked for, in turn with the controller's other work."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    look = partial(_asked, request, context)
    return Sliced(_answer(await context.broker.controller.in_turn("list what moves", look)))


async def _asked(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> list[Told | None]:
    """The partitions, as they are while nothing else is decided; None for those there are not."""
    leading = context.broker.controller.decisions.leading
    if request.topics is None:
        return [*leading.all_told()]
    found: list[Told | None] = []
    pauses = context.broker.turns.pauses()
    for topic in request.topics:
        await pauses.pause()
        for index in topic.partition_indexes:
            await pauses.pause()
            found.append(leading.find(topic.name, index))
    return found


def _answer(asked: list[Told | None]) -> Steps[ListPartitionReassignmentsResponse]:
    topics: dict[str, dict[int, OngoingPartitionReassignment]] = {}
    for each in asked:
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


def refuse(
    request: ListPartitionReassignmentsRequest, code: ErrorCode
) -> ListPartitionReassignmentsResponse:
    """The whole answers the error."""
    return ListPartitionReassignmentsResponse(error_code=int(code), error_message=None)
