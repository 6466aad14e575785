"""UpdateMetadata: Tell a broker about all brokers and partitions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.compiler import MAX_ELEMENTS
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 ungrouped_partition_states, one host and port (v0_host, v0_port) of each broker ·
# v1 endpoints with security_protocol instead of v0_host and v0_port (KIP-2) · v2 rack (KIP-36) ·
# v3 listener of each endpoint (KIP-103) · v4 offline_replicas (KIP-112) ·
# v5 broker_epoch, topic_states group partitions by topic (KIP-380) · v6 flexible (KIP-482) ·
# v7 topic_id (KIP-516) ·
# v8 is_kraft_controller, tagged type full or incremental, for migration (KIP-866) · gone in 4.0


@struct
class UpdateMetadataPartitionState(Struct):
    topic_name: str = field(String, until=4, ignorable=True, default="")
    partition_index: int = field(Int32)
    controller_epoch: int = field(Int32)
    leader: int = field(Int32)
    leader_epoch: int = field(Int32)
    isr: list[int] = field(Array(Int32), default_factory=list)
    zk_version: int = field(Int32)
    replicas: list[int] = field(Array(Int32), default_factory=list)
    offline_replicas: list[int] = field(Array(Int32), since=4, ignorable=True, default_factory=list)


@struct
class UpdateMetadataTopicState(Struct):
    topic_name: str = field(String)
    topic_id: Uuid = field(UUID, since=7, ignorable=True, default=ZERO_UUID)
    partition_states: list[UpdateMetadataPartitionState] = field(
        Array(UpdateMetadataPartitionState), default_factory=list
    )


@struct
class UpdateMetadataEndpoint(Struct):
    port: int = field(Int32)
    host: str = field(String)
    listener: str = field(String, since=3, ignorable=True, default="")
    # 0 plaintext, 1 SSL, 2 SASL plaintext, 3 SASL SSL
    security_protocol: int = field(Int16)


@struct
class UpdateMetadataBroker(Struct):
    id: int = field(Int32)
    v0_host: str = field(String, until=0, ignorable=True, default="")
    v0_port: int = field(Int32, until=0, ignorable=True, default=0)
    endpoints: list[UpdateMetadataEndpoint] = field(
        Array(UpdateMetadataEndpoint), since=1, ignorable=True, default_factory=list
    )
    rack: str | None = field(String, since=2, nullable=0, ignorable=True, default="")


@message(ApiKey.UPDATE_METADATA, versions=(0, 8), flexible=6, most_elements=MAX_ELEMENTS)
class UpdateMetadataRequest(Message):
    """Tell a broker about all brokers and partitions."""

    controller_id: int = field(Int32)
    is_kraft_controller: bool = field(
        Boolean, since=8, kafka_name="isKRaftController", default=False
    )
    type: int = field(Int8, since=8, tag=0, default=0)
    controller_epoch: int = field(Int32)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(
        Array(UpdateMetadataPartitionState), until=4, default_factory=list
    )
    # -1 if unknown
    broker_epoch: int = field(Int64, since=5, default=-1, ignorable=True)
    topic_states: list[UpdateMetadataTopicState] = field(
        Array(UpdateMetadataTopicState), since=5, default_factory=list
    )
    live_brokers: list[UpdateMetadataBroker] = field(
        Array(UpdateMetadataBroker), default_factory=list
    )


@message(ApiKey.UPDATE_METADATA, versions=(0, 8), flexible=6)
class UpdateMetadataResponse(Message):
    """Whether the broker took the metadata."""

    error_code: int = field(Int16, default=0)
