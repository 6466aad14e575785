"""DescribeCluster: Ask for the cluster's id, brokers or controllers."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-700) · v1 endpoint_type brokers or controllers, on both sides (KIP-919) ·
# v2 include_fenced_brokers, is_fenced (KIP-1073)


@message(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible=0)
class DescribeClusterRequest(Message):
    """Ask for the cluster's id, brokers or controllers."""

    include_cluster_authorized_operations: bool = field(Boolean)
    # 1 brokers, 2 controllers
    endpoint_type: int = field(Int8, since=1, default=1)
    include_fenced_brokers: bool = field(Boolean, since=2, default=False)


@struct
class DescribeClusterBroker(Struct):
    broker_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable=0, default=None)
    is_fenced: bool = field(Boolean, since=2, default=False)


@message(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible=0)
class DescribeClusterResponse(Message):
    """The cluster's id, controller and nodes."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    endpoint_type: int = field(Int8, since=1, default=1)
    cluster_id: str = field(String)
    # -1 if there is none
    controller_id: int = field(Int32, default=-1)
    brokers: list[DescribeClusterBroker] = field(Array(DescribeClusterBroker), default_factory=list)
    cluster_authorized_operations: int = field(Int32, default=-2147483648)
