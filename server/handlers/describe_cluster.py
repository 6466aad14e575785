"""DescribeCluster: the cluster's id, controller and brokers.

* Authorized operations are a set of bits when asked for, else the smallest number, which means
  that nobody asked (KIP-430).
* v1: a broker can only describe brokers (KIP-919): MISMATCHED_ENDPOINT_TYPE for controllers,
  UNSUPPORTED_ENDPOINT_TYPE for anything else. v2: no broker is ever fenced here.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, CLUSTER_OPERATIONS
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

VERSIONS = Versions(0, 2)
BROKERS, CONTROLLERS = 1, 2


def handle(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    """Answer from this broker's metadata."""
    try:
        _check_endpoint_type(request.endpoint_type)
    except ApiError as error:
        refused = refuse(request, error.code)
        refused.error_message = error.message
        return refused
    metadata = context.broker.metadata
    response = DescribeClusterResponse(
        cluster_id=metadata.cluster_id,
        controller_id=metadata.shown_controller_id,
        brokers=_brokers(context),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = context.authorized(CLUSTER_OPERATIONS, CLUSTER)
    return response


def _check_endpoint_type(endpoint_type: int) -> None:
    if endpoint_type == CONTROLLERS:
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
            "type CONTROLLER",
        )
    if endpoint_type != BROKERS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
        )


def _brokers(context: RequestContext) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(
            broker_id=broker.broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
        )
        for broker, endpoint in context.broker.metadata.reachable(context.listener_name)
    ]


def refuse(request: DescribeClusterRequest, code: ErrorCode) -> DescribeClusterResponse:
    """No cluster, no brokers."""
    return DescribeClusterResponse(error_code=int(code), cluster_id="")
