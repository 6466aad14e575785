"""StreamsGroupDescribe: Describe streams groups."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32, Int64, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071) ·
# v1 include_topology_description, topology_description, topology_description_status (KIP-1331),
#   assignor_name (KIP-1357)


@message(ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 1), flexible=0)
class StreamsGroupDescribeRequest(Message):
    """Describe streams groups."""

    group_ids: list[str] = field(Array(String), default_factory=list)
    include_authorized_operations: bool = field(Boolean)
    include_topology_description: bool = field(Boolean, since=1, default=False)


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
class Subtopology(Struct):
    subtopology_id: str = field(String)
    source_topics: list[str] = field(Array(String), default_factory=list)
    repartition_sink_topics: list[str] = field(Array(String), default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo), default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo), default_factory=list)


@struct
class Topology(Struct):
    epoch: int = field(Int32)
    subtopologies: list[Subtopology] | None = field(Array(Subtopology), nullable=0, default=None)


@struct
class Endpoint(Struct):
    host: str = field(String)
    port: int = field(Uint16)


@struct
class TaskOffset(Struct):
    subtopology_id: str = field(String)
    partition: int = field(Int32)
    offset: int = field(Int64)


@struct
class TaskIds(Struct):
    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class Assignment(Struct):
    active_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    standby_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    warmup_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)


@struct
class Member(Struct):
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable=0, default=None)
    rack_id: str | None = field(String, nullable=0, default=None)
    client_id: str = field(String)
    client_host: str = field(String)
    topology_epoch: int = field(Int32)
    process_id: str = field(String)
    user_endpoint: Endpoint | None = field(Endpoint, nullable=0, default=None)
    client_tags: list[KeyValue] = field(Array(KeyValue), default_factory=list)
    task_offsets: list[TaskOffset] = field(Array(TaskOffset), default_factory=list)
    task_end_offsets: list[TaskOffset] = field(Array(TaskOffset), default_factory=list)
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    is_classic: bool = field(Boolean)


@struct
class TopologyDescriptionNode(Struct):
    name: str = field(String)
    node_type: int = field(Int8)
    source_topics: list[str] = field(Array(String), default_factory=list)
    sink_topic: str | None = field(String, nullable=0, default=None)
    stores: list[str] = field(Array(String), default_factory=list)
    successors: list[str] = field(Array(String), default_factory=list)


@struct
class TopologyDescriptionSubtopology(Struct):
    subtopology_id: str = field(String)
    nodes: list[TopologyDescriptionNode] = field(
        Array(TopologyDescriptionNode), default_factory=list
    )


@struct
class TopologyDescriptionGlobalStore(Struct):
    source: TopologyDescriptionNode = field(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = field(TopologyDescriptionNode)


@struct
class TopologyDescription(Struct):
    subtopologies: list[TopologyDescriptionSubtopology] = field(
        Array(TopologyDescriptionSubtopology), default_factory=list
    )
    global_stores: list[TopologyDescriptionGlobalStore] = field(
        Array(TopologyDescriptionGlobalStore), default_factory=list
    )


@struct
class DescribedGroup(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    group_id: str = field(String)
    group_state: str = field(String)
    group_epoch: int = field(Int32)
    assignment_epoch: int = field(Int32)
    topology: Topology | None = field(Topology, nullable=0, default=None)
    members: list[Member] = field(Array(Member), default_factory=list)
    authorized_operations: int = field(Int32, default=-2147483648)
    topology_description: TopologyDescription | None = field(
        TopologyDescription, since=1, nullable=0, default=None
    )
    topology_description_status: int = field(Int8, since=1, default=0)
    assignor_name: str | None = field(String, since=1, nullable=0, default=None, ignorable=True)


@message(ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 1), flexible=0)
class StreamsGroupDescribeResponse(Message):
    """State, topology, members and tasks of each streams group."""

    throttle_time_ms: int = field(Int32, default=0)
    groups: list[DescribedGroup] = field(Array(DescribedGroup), default_factory=list)
