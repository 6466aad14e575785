"""Metadata: Ask for brokers and for topics' partitions and leaders."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 an empty topics array asks for all ·
# v1 null topics asks for all, empty for none; rack, controller_id, is_internal (KIP-4) ·
# v2 cluster_id (KIP-78) · v3 throttle_time_ms (KIP-124) ·
# v4 allow_auto_topic_creation (KIP-117) · v5 offline_replicas (KIP-112) ·
# v6 throttled responses are sent at once, the client waits (KIP-219) ·
# v7 leader_epoch (KIP-320) ·
# v8 include_cluster_authorized_operations, include_topic_authorized_operations and their answers
#   (KIP-430) · v9 flexible (KIP-482) ·
# v10 topic_id, nullable name in the request (KIP-516; asking by id works from v12) ·
# v11 include_cluster_authorized_operations and its answer moved to DescribeCluster (KIP-700) ·
# v12 topics by id, name nullable in the response (KIP-516) ·
# v13 error_code of the whole answer (KIP-1102)


@struct
class MetadataRequestTopic(Struct):
    topic_id: Uuid = field(UUID, since=10, ignorable=True, default=ZERO_UUID)
    name: str | None = field(String, nullable=10)


@message(ApiKey.METADATA, versions=(0, 13), flexible=9)
class MetadataRequest(Message):
    """Ask for brokers and for topics' partitions and leaders."""

    # null asks for all topics (v0: empty)
    topics: list[MetadataRequestTopic] | None = field(
        Array(MetadataRequestTopic), nullable=1, default_factory=list
    )
    allow_auto_topic_creation: bool = field(Boolean, since=4, default=True)
    include_cluster_authorized_operations: bool = field(Boolean, since=8, until=10, default=False)
    include_topic_authorized_operations: bool = field(Boolean, since=8, default=False)


@struct
class MetadataResponseBroker(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, since=1, nullable=0, default=None, ignorable=True)


@struct
class MetadataResponsePartition(Struct):
    error_code: int = field(Int16, default=0)
    partition_index: int = field(Int32)
    # -1 if there is none
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32, since=7, default=-1, ignorable=True)
    replica_nodes: list[int] = field(Array(Int32), default_factory=list)
    isr_nodes: list[int] = field(Array(Int32), default_factory=list)
    offline_replicas: list[int] = field(Array(Int32), since=5, ignorable=True, default_factory=list)


@struct
class MetadataResponseTopic(Struct):
    error_code: int = field(Int16, default=0)
    name: str | None = field(String, nullable=12)
    topic_id: Uuid = field(UUID, since=10, ignorable=True, default=ZERO_UUID)
    is_internal: bool = field(Boolean, since=1, ignorable=True, default=False)
    partitions: list[MetadataResponsePartition] = field(
        Array(MetadataResponsePartition), default_factory=list
    )
    # bit per operation; the smallest int32 if not asked for
    topic_authorized_operations: int = field(Int32, since=8, default=-2147483648)


@message(ApiKey.METADATA, versions=(0, 13), flexible=9)
class MetadataResponse(Message):
    """Brokers, controller, topics, partitions and their leaders."""

    throttle_time_ms: int = field(Int32, since=3, ignorable=True, default=0)
    brokers: list[MetadataResponseBroker] = field(
        Array(MetadataResponseBroker), default_factory=list
    )
    cluster_id: str | None = field(String, since=2, nullable=0, default=None, ignorable=True)
    # -1 if there is none
    controller_id: int = field(Int32, since=1, default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = field(
        Array(MetadataResponseTopic, built=True), default_factory=list
    )
    # bit per operation; the smallest int32 if not asked for
    cluster_authorized_operations: int = field(Int32, since=8, until=10, default=-2147483648)
    error_code: int = field(Int16, since=13, ignorable=True, default=0)
