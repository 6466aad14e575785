"""DescribeCluster agrees with Metadata."""

from typing import Any

import pytest

from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient

NOT_ASKED = -(2**31)
EVERYTHING = (
    8096  # Create Alter Describe ClusterAction DescribeConfigs AlterConfigs IdempotentWrite
)


def described(client: RawClient, version: int, **fields: Any) -> DescribeClusterResponse:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=bool(fields.pop("operations", False)), **fields
    )
    answer: DescribeClusterResponse = client.call(request, version)
    return answer


@pytest.mark.parametrize("version", range(3))
def test_every_version_says_what_metadata_says(client: RawClient, version: int) -> None:
    metadata = client.call(MetadataRequest(topics=[]), 9)
    answer = described(client, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert answer.cluster_id == metadata.cluster_id
    assert answer.controller_id == metadata.controller_id
    assert answer.controller_id in [broker.broker_id for broker in answer.brokers]
    assert [(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers] == [
        (b.node_id, b.host, b.port, b.rack) for b in metadata.brokers
    ]
    assert answer.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", range(3))
def test_operations_on_request(client: RawClient, version: int) -> None:
    answer = described(client, version, operations=True)
    assert answer.cluster_authorized_operations == EVERYTHING


def test_fenced_brokers_there_are_none(client: RawClient) -> None:
    answer = described(client, 2, include_fenced_brokers=True)
    assert [broker.is_fenced for broker in answer.brokers] == [False]


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (9, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_a_broker_describes_brokers_only(
    client: RawClient, endpoint_type: int, code: ErrorCode
) -> None:
    answer = described(client, 1, endpoint_type=endpoint_type)
    assert (answer.error_code, answer.brokers) == (code, [])
    assert answer.error_message
