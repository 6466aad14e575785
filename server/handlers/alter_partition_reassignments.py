"""AlterPartitionReassignments: start, change or cancel moves of partitions to other replicas.

* Answered as soon as a move has begun; ListPartitionReassignments says when it has ended. A move
  that is under way is replaced; null cancels it, NO_REASSIGNMENT_IN_PROGRESS where there is none.
* INVALID_REPLICA_ASSIGNMENT: no replicas, a broker named twice or below zero, one that is to come
  and does not live; or the only replicas in sync would go (that as KRaft).
* v1 can forbid another number of replicas: INVALID_REPLICATION_FACTOR (KIP-860).
* A partition that is named twice: INVALID_REQUEST. Unknown ones: UNKNOWN_TOPIC_OR_PARTITION. A
  broker that is not the controller: NOT_CONTROLLER.
"""

from functools import partial

from barnabas.server.core.errors import REFUSALS, ApiError, code_of, message_of
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

VERSIONS = Versions(0, 1)

Wanted = dict[tuple[str, int], list[int] | None]
Faults = dict[tuple[str, int], ApiError]


async def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> Sliced[AlterPartitionReassignmentsResponse]:
    """Begin the moves, in turn with the controller's other work."""
    if not context.may(Operation.ALTER, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    controller, turns = context.broker.controller, context.broker.turns
    twice: Faults = {}
    wanted = await turns.run(_wanted(request, twice))
    start = partial(
        controller.decisions.reassignments.start,
        wanted,
        may_resize=request.allow_replication_factor_change,
    )
    try:
        faults = await controller.in_turn("move partitions", start)
    except REFUSALS as error:
        return Sliced(_refuse_all(request, code_of(error), message_of(error)))
    return Sliced(_answer(request, {**faults, **twice}))


def _wanted(request: AlterPartitionReassignmentsRequest, twice: Faults) -> Steps[Wanted]:
    """What is wanted of each partition; those that are named more than once are put aside."""
    wanted: Wanted = {}
    for topic in request.topics:
        yield
        for each in topic.partitions:
            key = (topic.name, each.partition_index)
            if key in wanted or key in twice:
                wanted.pop(key, None)
                twice[key] = ApiError(ErrorCode.INVALID_REQUEST, "It is named more than once.")
            else:
                wanted[key] = each.replicas
            yield
    return wanted


def _answer(
    request: AlterPartitionReassignmentsRequest, faults: Faults
) -> Steps[AlterPartitionReassignmentsResponse]:
    response = AlterPartitionReassignmentsResponse(
        error_message=None,
        allow_replication_factor_change=request.allow_replication_factor_change,
    )
    for topic in request.topics:
        yield
        answer = ReassignableTopicResponse(name=topic.name)
        response.responses.append(answer)
        for each in topic.partitions:
            fault = faults.get((topic.name, each.partition_index))
            answer.partitions.append(
                ReassignablePartitionResponse(
                    partition_index=each.partition_index,
                    error_code=int(ErrorCode.NONE if fault is None else fault.code),
                    error_message=None if fault is None else fault.message,
                )
            )
            yield
    return response


def _refuse_all(
    request: AlterPartitionReassignmentsRequest, code: ErrorCode, message: str | None
) -> Steps[AlterPartitionReassignmentsResponse]:
    response = AlterPartitionReassignmentsResponse(
        error_code=int(code),
        error_message=message,
        allow_replication_factor_change=request.allow_replication_factor_change,
    )
    for topic in request.topics:
        yield
        answer = ReassignableTopicResponse(name=topic.name)
        response.responses.append(answer)
        for each in topic.partitions:
            answer.partitions.append(
                ReassignablePartitionResponse(
                    partition_index=each.partition_index, error_code=int(code), error_message=None
                )
            )
            yield
    return response


def refuse(
    request: AlterPartitionReassignmentsRequest, code: ErrorCode
) -> AlterPartitionReassignmentsResponse:
    """The whole, and every partition, answers the error."""
    steps = _refuse_all(request, code, None)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            answer: AlterPartitionReassignmentsResponse = done.value
            return answer
