"""StreamsGroupHeartbeat: Join, stay in, change or leave a streams group."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32, Int64, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071) ·
# v1 topology_description_required in the response (KIP-1331), acceptable_recovery_lag instead of
#   acceptable_recovery_lag_legacy, status MISSING_CLIENT_TAGS (KAFKA-20744)


@struct
class KeyValue(Struct):
    key: str = field(String)
    value: str = field(String)


@struct
class TopicInfo(Struct):
    name: str = field(String)
    partitions: int = field(Int32)
    replication_factor: int = field(Int16)
    topic_configs: list[KeyValue] = field(Array(KeyValue), default_factory=list)


@struct
class CopartitionGroup(Struct):
    source_topics: list[int] = field(Array(Int16), default_factory=list)
    source_topic_regex: list[int] = field(Array(Int16), default_factory=list)
    repartition_source_topics: list[int] = field(Array(Int16), default_factory=list)


@struct
class Subtopology(Struct):
    subtopology_id: str = field(String)
    source_topics: list[str] = field(Array(String), default_factory=list)
    source_topic_regex: list[str] = field(Array(String), default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo), default_factory=list)
    repartition_sink_topics: list[str] = field(Array(String), default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo), default_factory=list)
    copartition_groups: list[CopartitionGroup] = field(
        Array(CopartitionGroup), default_factory=list
    )


@struct
class Topology(Struct):
    epoch: int = field(Int32)
    subtopologies: list[Subtopology] = field(Array(Subtopology), default_factory=list)


@struct
class TaskIdsRequest(Struct):
    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class EndpointRequest(Struct):
    host: str = field(String)
    port: int = field(Uint16)


@struct
class TaskOffset(Struct):
    subtopology_id: str = field(String)
    partition: int = field(Int32)
    offset: int = field(Int64)


@message(ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class StreamsGroupHeartbeatRequest(Message):
    """Join, stay in, change or leave a streams group."""

    group_id: str = field(String)
    member_id: str = field(String)
    # 0 joins, -1 leaves, -2 a static member leaves for a while
    member_epoch: int = field(Int32)
    endpoint_information_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable=0, default=None)
    rack_id: str | None = field(String, nullable=0, default=None)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    topology: Topology | None = field(Topology, nullable=0, default=None)
    active_tasks: list[TaskIdsRequest] | None = field(
        Array(TaskIdsRequest), nullable=0, default=None
    )
    standby_tasks: list[TaskIdsRequest] | None = field(
        Array(TaskIdsRequest), nullable=0, default=None
    )
    warmup_tasks: list[TaskIdsRequest] | None = field(
        Array(TaskIdsRequest), nullable=0, default=None
    )
    process_id: str | None = field(String, nullable=0, default=None)
    user_endpoint: EndpointRequest | None = field(EndpointRequest, nullable=0, default=None)
    client_tags: list[KeyValue] | None = field(Array(KeyValue), nullable=0, default=None)
    task_offsets: list[TaskOffset] | None = field(Array(TaskOffset), nullable=0, default=None)
    task_end_offsets: list[TaskOffset] | None = field(Array(TaskOffset), nullable=0, default=None)
    shutdown_application: bool = field(Boolean)


@struct
class Status(Struct):
    status_code: int = field(Int8)
    status_detail: str = field(String)


@struct
class TaskIdsResponse(Struct):
    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class EndpointResponse(Struct):
    host: str = field(String)
    port: int = field(Uint16)


@struct
class TopicPartition(Struct):
    topic: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class EndpointToPartitions(Struct):
    user_endpoint: EndpointResponse = field(EndpointResponse)
    active_partitions: list[TopicPartition] = field(Array(TopicPartition), default_factory=list)
    standby_partitions: list[TopicPartition] = field(Array(TopicPartition), default_factory=list)


@message(ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class StreamsGroupHeartbeatResponse(Message):
    """The member's epoch, tasks and the group's status."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    acceptable_recovery_lag_legacy: int = field(Int32, until=0, default=0)
    task_offset_interval_ms: int = field(Int32)
    acceptable_recovery_lag: int = field(Int64, since=1, default=-1, ignorable=True)
    status: list[Status] | None = field(Array(Status), nullable=0, default_factory=list)
    active_tasks: list[TaskIdsResponse] | None = field(
        Array(TaskIdsResponse), nullable=0, default=None
    )
    standby_tasks: list[TaskIdsResponse] | None = field(
        Array(TaskIdsResponse), nullable=0, default=None
    )
    warmup_tasks: list[TaskIdsResponse] | None = field(
        Array(TaskIdsResponse), nullable=0, default=None
    )
    topology_description_required: bool = field(Boolean, since=1, default=False)
    endpoint_information_epoch: int = field(Int32)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(
        Array(EndpointToPartitions), nullable=0, default=None
    )
