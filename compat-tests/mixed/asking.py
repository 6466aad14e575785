"""What tests ask a controller for, whoever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest
from tests.server.raw_client import RawClient

TIMEOUT_S = 60.0
GROUP, TRANSACTION = 0, 1
NONE, PREFERRED_LEADER_NOT_AVAILABLE, ELECTION_NOT_NEEDED = 0, 80, 84


def reassign(port: int, topic: str, targets: Mapping[int, Sequence[int]]) -> None:
    """Begin to move partitions to these replicas."""
    moves = [ReassignablePartition(index, list(target)) for index, target in targets.items()]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, moves)])
    with RawClient(port, timeout_s=TIMEOUT_S) as client:
        answer = client.call(request, 0)
    errors = {each.error_code for said in answer.responses for each in said.partitions}
    assert answer.error_code == NONE and errors == {NONE}, answer


def elects_preferred(port: int, topic: str, partitions: Sequence[int]) -> bool:
    """Let the first replica of each lead; whether the controller knows that these are in sync.

    Below protocol 2.7 leaders say who is in sync in batches, some seconds later.
    """
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic, list(partitions))])
    with RawClient(port, timeout_s=TIMEOUT_S) as client:
        answer = client.call(request, 2)
    results = [each for said in answer.replica_election_results for each in said.partition_result]
    assert answer.error_code == NONE and len(results) == len(partitions), answer
    errors = {each.error_code for each in results}
    assert errors <= {NONE, ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE}, answer
    return PREFERRED_LEADER_NOT_AVAILABLE not in errors


def coordinators(port: int, kind: int, names: Sequence[str]) -> dict[str, int]:
    """Who coordinates each of these, by what this broker says; `kind`: GROUP or TRANSACTION."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=list(names))
    with RawClient(port, timeout_s=TIMEOUT_S) as client:
        answer = client.call(request, 4)
    return {each.key: each.node_id for each in answer.coordinators}


def metadata(port: int) -> MetadataResponse:
    """What a broker tells clients: of everything."""
    with RawClient(port, timeout_s=TIMEOUT_S) as client:
        answer: MetadataResponse = client.call(MetadataRequest(topics=None), 9)
    return answer


def committed(port: int, group: str, topic: str) -> dict[int, int]:
    """A group's offsets, from its coordinator at this port; none if it is not that.

    Not by librdkafka's AdminClient, which crashes when it is told so.
    """
    request = OffsetFetchRequest(group_id=group, topics=None, require_stable=False)
    with RawClient(port, timeout_s=TIMEOUT_S) as client:
        answer = client.call(request, 7)
    return {
        each.partition_index: each.committed_offset
        for found in answer.topics
        for each in found.partitions
        if found.name == topic and answer.error_code == each.error_code == NONE
    }
