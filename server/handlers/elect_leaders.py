"""ElectLeaders: preferred or unclean elections, on request.

* A partition that is led as wanted answers ELECTION_NOT_NEEDED; in an answer about all
  partitions (null) those are left out. Unknown ones: UNKNOWN_TOPIC_OR_PARTITION.
* Leaders are the only replicas in sync: an election that is needed finds nobody,
  PREFERRED_LEADER_NOT_AVAILABLE or ELIGIBLE_LEADERS_NOT_AVAILABLE.
* A broker that is not the controller answers NOT_CONTROLLER for every partition.
"""

from collections.abc import Iterator

from barnabas.server.cluster.elections import election_fault
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


def handle(request: ElectLeadersRequest, context: RequestContext) -> Sliced[ElectLeadersResponse]:
    """Say for every partition why no election was held."""
    return Sliced(_answer_all(request, context))


def _answer_all(
    request: ElectLeadersRequest, context: RequestContext
) -> Steps[ElectLeadersResponse]:
    if request.election_type not in (PREFERRED, UNCLEAN):
        return _unknown_type(request)
    metadata = context.broker.metadata
    results: dict[str, list[PartitionResult]] = {}
    for topic, index in _wanted(request, metadata):
        yield
        if index is None:
            continue
        if not context.broker.controller.is_active:
            fault = ApiError(ErrorCode.NOT_CONTROLLER)
        else:
            fault = _fault(topic, index, request.election_type == UNCLEAN, metadata)
        if request.topic_partitions is None and fault.code is ErrorCode.ELECTION_NOT_NEEDED:
            continue
        results.setdefault(topic, []).append(
            PartitionResult(
                partition_id=index, error_code=int(fault.code), error_message=fault.message
            )
        )
    response = ElectLeadersResponse()
    for topic, partitions in results.items():
        answer = ReplicaElectionResult(topic=topic, partition_result=partitions)
        response.replica_election_results.append(answer)
        yield
    return response


def _wanted(
    request: ElectLeadersRequest, metadata: ClusterMetadata
) -> Iterator[tuple[str, int | None]]:
    """Topics and partitions; none for each topic, too, which may be without any."""
    if request.topic_partitions is None:
        for topic in tuple(metadata.topics.values()):
            yield from ((topic.name, info.index) for info in topic.partitions)
    else:
        for wanted in request.topic_partitions:
            yield wanted.topic, None
            yield from ((wanted.topic, index) for index in wanted.partitions)


def _fault(topic: str, index: int, unclean: bool, metadata: ClusterMetadata) -> ApiError:
    info = metadata.partition(topic, index)
    if info is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    return election_fault(info, metadata.brokers, unclean)


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
