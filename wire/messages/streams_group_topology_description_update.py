"""StreamsGroupTopologyDescriptionUpdate: Store the readable topology of a streams group."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1331)


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


@message(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, versions=(0, 0), flexible=0)
class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    """Store the readable topology of a streams group."""

    group_id: str = field(String)
    member_id: str = field(String)
    topology_epoch: int = field(Int32)
    topology_description: TopologyDescription = field(TopologyDescription)


@message(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, versions=(0, 0), flexible=0)
class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    """Whether the topology was stored."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
