"""CreateTopics: Create topics."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 topics, timeout_ms (KIP-4) · v1 validate_only, error_message ·
# v2 throttle_time_ms (KIP-124) ·
# v3 throttled responses are sent at once, the client waits (KIP-219) ·
# v4 -1 for num_partitions and replication_factor takes the broker's defaults (KIP-464) ·
# v5 flexible (KIP-482); num_partitions, replication_factor, configs and tagged
#   topic_config_error_code in the response (KIP-525) ·
# v6 error THROTTLING_QUOTA_EXCEEDED (KIP-599) · v7 topic_id in the response (KIP-516) ·
# v0-v1 gone in 4.0 (KIP-896)


@struct
class CreatableReplicaAssignment(Struct):
    partition_index: int = field(Int32)
    broker_ids: list[int] = field(Array(Int32), default_factory=list)


@struct
class CreatableTopicConfig(Struct):
    name: str = field(String)
    value: str | None = field(String, nullable=0)


@struct
class CreatableTopic(Struct):
    name: str = field(String)
    # -1 with assignments, or for the default
    num_partitions: int = field(Int32)
    # -1 with assignments, or for the default
    replication_factor: int = field(Int16)
    assignments: list[CreatableReplicaAssignment] = field(
        Array(CreatableReplicaAssignment), default_factory=list
    )
    configs: list[CreatableTopicConfig] = field(Array(CreatableTopicConfig), default_factory=list)


@message(ApiKey.CREATE_TOPICS, versions=(0, 7), flexible=5)
class CreateTopicsRequest(Message):
    """Create topics."""

    topics: list[CreatableTopic] = field(Array(CreatableTopic), default_factory=list)
    timeout_ms: int = field(Int32, default=60000, kafka_name="timeoutMs")
    validate_only: bool = field(Boolean, since=1, kafka_name="validateOnly", default=False)


@struct
class CreatableTopicConfigs(Struct):
    name: str = field(String)
    value: str | None = field(String, nullable=0)
    read_only: bool = field(Boolean)
    # see DescribeConfigsResponse
    config_source: int = field(Int8, default=-1, ignorable=True)
    is_sensitive: bool = field(Boolean)


@struct
class CreatableTopicResult(Struct):
    name: str = field(String)
    topic_id: Uuid = field(UUID, since=7, ignorable=True, default=ZERO_UUID)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, since=1, nullable=0, ignorable=True, default="")
    topic_config_error_code: int = field(Int16, since=5, tag=0, ignorable=True, default=0)
    num_partitions: int = field(Int32, since=5, default=-1, ignorable=True)
    replication_factor: int = field(Int16, since=5, default=-1, ignorable=True)
    # null when the caller may not see them
    configs: list[CreatableTopicConfigs] | None = field(
        Array(CreatableTopicConfigs), since=5, nullable=0, ignorable=True, default_factory=list
    )


@message(ApiKey.CREATE_TOPICS, versions=(0, 7), flexible=5)
class CreateTopicsResponse(Message):
    """Per topic, whether it was created, its id and settings."""

    throttle_time_ms: int = field(Int32, since=2, ignorable=True, default=0)
    topics: list[CreatableTopicResult] = field(Array(CreatableTopicResult), default_factory=list)
