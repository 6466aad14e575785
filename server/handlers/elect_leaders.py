"""ElectLeaders: preferred or unclean elections, on request.

* A partition that is led as wanted answers ELECTION_NOT_NEEDED; in an answer about all
  partitions (null) those are left out. Unknown ones: UNKNOWN_TOPIC_OR_PARTITION, of a topic that
  is being deleted INVALID_TOPIC_EXCEPTION.
* Where nobody can be elected: PREFERRED_LEADER_NOT_AVAILABLE, and for an unclean election
  ELIGIBLE_LEADERS_NOT_AVAILABLE.
* A broker that is not the controller answers NOT_CONTROLLER for every partition.
* It is answered once the elections are held, whatever `timeout_ms`; Kafka waits until its own
  metadata shows them.
"""

from collections.abc import Mapping
from functools import partial

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

VERSIONS = Versions(0, 2)
PREFERRED, UNCLEAN = 0, 1

Wanted = dict[str, dict[int, None]]
Faults = Mapping[tuple[str, int], ApiError]


async def handle(
    request: ElectLeadersRequest, context: RequestContext
) -> Sliced[ElectLeadersResponse] | ElectLeadersResponse:
    """Hold the elections, in turn with the controller's other work."""
    if request.election_type not in (PREFERRED, UNCLEAN):
        return _unknown_type(request)
    broker = context.broker
    wanted = await broker.turns.run(_wanted(request, broker.metadata))
    keys = await broker.turns.run(_keys(wanted))
    try:
        decisions = broker.controller.decisions
        is_unclean = request.election_type == UNCLEAN
        hold = partial(decisions.elections.hold, keys, is_unclean=is_unclean)
        faults: Faults = await broker.controller.in_turn("hold elections", hold)
    except ApiError as error:
        faults = dict.fromkeys(keys, error)
    return Sliced(_answer(wanted, faults, leaves_out=request.topic_partitions is None))


def _wanted(request: ElectLeadersRequest, metadata: ClusterMetadata) -> Steps[Wanted]:
    """Partitions by topic, in order, each once."""
    wanted: Wanted = {}
    if request.topic_partitions is None:
        for topic in tuple(metadata.topics.values()):
            wanted[topic.name] = dict.fromkeys(info.index for info in topic.partitions)
            yield
        return wanted
    for asked in request.topic_partitions:
        wanted.setdefault(asked.topic, {}).update(dict.fromkeys(asked.partitions))
        yield
    return wanted


def _keys(wanted: Wanted) -> Steps[list[tuple[str, int]]]:
    keys = []
    for topic, indexes in wanted.items():
        yield
        for index in indexes:
            keys.append((topic, index))
            yield
    return keys


def _answer(wanted: Wanted, faults: Faults, *, leaves_out: bool) -> Steps[ElectLeadersResponse]:
    response = ElectLeadersResponse()
    for topic, indexes in wanted.items():
        yield
        results = []
        for index in indexes:
            fault = faults.get((topic, index))
            if fault and leaves_out and fault.code is ErrorCode.ELECTION_NOT_NEEDED:
                continue
            results.append(_result(index, fault))
            yield
        if results:
            answer = ReplicaElectionResult(topic=topic, partition_result=results)
            response.replica_election_results.append(answer)
    return response


def _result(index: int, fault: ApiError | None) -> PartitionResult:
    code = ErrorCode.NONE if fault is None else fault.code
    message = None if fault is None else fault.message
    return PartitionResult(partition_id=index, error_code=int(code), error_message=message)


def _unknown_type(request: ElectLeadersRequest) -> ElectLeadersResponse:
    response = refuse(request, ErrorCode.INVALID_REQUEST)
    for topic in response.replica_election_results:
        for partition in topic.partition_result:
            partition.error_message = f"Unknown election type {request.election_type}"
    return response


def refuse(request: ElectLeadersRequest, code: ErrorCode) -> ElectLeadersResponse:
    """The whole, and every partition, answers the error; v0 has only the latter."""
    return ElectLeadersResponse(
        error_code=int(code),
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=int(code), error_message=None)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or []
        ],
    )
