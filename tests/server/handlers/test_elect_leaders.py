"""ElectLeaders on a cluster of one: every partition is led as it should be."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.server.raw_client import RawClient

PREFERRED, UNCLEAN = 0, 1
Wanted = list[tuple[str, list[int]]] | None


def elect(
    client: RawClient, wanted: Wanted, election_type: int = PREFERRED, version: int = 2
) -> ElectLeadersResponse:
    topics = None
    if wanted is not None:
        topics = [TopicPartitions(topic=t, partitions=p) for t, p in wanted]
    request = ElectLeadersRequest(
        election_type=election_type, topic_partitions=topics, timeout_ms=5000
    )
    answer: ElectLeadersResponse = client.call(request, version)
    return answer


def codes(answer: ElectLeadersResponse) -> list[tuple[str, int, int]]:
    return [
        (topic.topic, partition.partition_id, partition.error_code)
        for topic in answer.replica_election_results
        for partition in topic.partition_result
    ]


@pytest.mark.parametrize(
    ("election_type", "version"), [(0, 0), (0, 1), (0, 2), (UNCLEAN, 1), (UNCLEAN, 2)]
)
def test_no_election_is_needed(
    broker: Broker, client: RawClient, election_type: int, version: int
) -> None:
    broker.create_topic(f"t{election_type}{version}", 2)
    wanted = [(f"t{election_type}{version}", [0, 1])]
    answer = elect(client, wanted, election_type, version)
    assert answer.error_code == 0
    assert [code for _, _, code in codes(answer)] == [ErrorCode.ELECTION_NOT_NEEDED] * 2


def test_all_partitions_leave_out_those_in_order(broker: Broker, client: RawClient) -> None:
    broker.create_topic("led")
    assert codes(elect(client, None)) == []
    assert codes(elect(client, None, UNCLEAN)) == []


def test_unknown_partitions(broker: Broker, client: RawClient) -> None:
    broker.create_topic("known")
    answer = elect(client, [("nope", [0]), ("known", [0, 9])])
    assert codes(answer) == [("nope", 0, 3), ("known", 0, 84), ("known", 9, 3)]


def test_an_unknown_kind_of_election(broker: Broker, client: RawClient) -> None:
    answer = elect(client, [("known", [0])], 5)
    assert (answer.error_code, codes(answer)) == (42, [("known", 0, ErrorCode.INVALID_REQUEST)])
