"""Subtopologies of a streams group and their topics."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071)


@struct
class TopicConfig(Struct):
    key: str = field(String, kafka_name="key")
    value: str = field(String, kafka_name="value")


@struct
class TopicInfo(Struct):
    name: str = field(String)
    partitions: int = field(Int32)
    replication_factor: int = field(Int16)
    topic_configs: list[TopicConfig] = field(Array(TopicConfig), default_factory=list)


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


@message(versions=(0, 0), flexible=0)
class StreamsGroupTopologyValue(Message):
    epoch: int = field(Int32)
    subtopologies: list[Subtopology] = field(Array(Subtopology), default_factory=list)
