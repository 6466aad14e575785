"""Produce: Append record batches to partitions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Records, RecordsView, String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 acks, timeout_ms · v1 throttle_time_ms in the response (KIP-13) ·
# v2 log_append_time_ms, message format v1 (KIP-32) ·
# v3 transactional_id, message format v2 (KIP-98) · v4 error KAFKA_STORAGE_ERROR (KIP-112) ·
# v5 log_start_offset in the response (KAFKA-5793) ·
# v6 throttled responses are sent at once, the client waits (KIP-219) ·
# v7 zstd batches (KIP-110) · v8 record_errors and error_message (KIP-467) ·
# v9 flexible (KIP-482) ·
# v10 tagged current_leader and node_endpoints in the response (KIP-951) ·
# v11 error TRANSACTION_ABORTABLE (KIP-890) ·
# v12 a transactional produce adds its partitions to the transaction (KIP-890) ·
# v13 topics by id instead of name (KIP-516) ·
# v0-v2 gone in 4.0 (KIP-896), though ApiVersions still lists them for librdkafka


@struct
class PartitionProduceData(Struct):
    index: int = field(Int32)
    # one record batch (format v2), or a set of old messages
    records: RecordsView | None = field(Records, nullable=0)


@struct
class TopicProduceData(Struct):
    name: str = field(String, until=12, ignorable=3, default="")
    topic_id: Uuid = field(UUID, since=13, ignorable=True, default=ZERO_UUID)
    partitions: list[PartitionProduceData] = field(
        Array(PartitionProduceData), kafka_name="PartitionData", default_factory=list
    )


@message(ApiKey.PRODUCE, versions=(0, 13), flexible=9)
class ProduceRequest(Message):
    """Append record batches to partitions."""

    # null outside a transaction
    transactional_id: str | None = field(String, since=3, nullable=0, default=None)
    # 0 none (no response is sent), 1 leader, -1 all in-sync replicas
    acks: int = field(Int16)
    timeout_ms: int = field(Int32)
    topics: list[TopicProduceData] = field(
        Array(TopicProduceData), kafka_name="TopicData", default_factory=list
    )


@struct
class BatchIndexAndErrorMessage(Struct):
    # position of the record in its batch
    batch_index: int = field(Int32)
    batch_index_error_message: str | None = field(String, nullable=0, default=None)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int = field(Int32, default=-1)
    leader_epoch: int = field(Int32, default=-1)


@struct
class PartitionProduceResponse(Struct):
    index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    # -1 on error
    base_offset: int = field(Int64)
    # -1 unless the topic stamps log append time
    log_append_time_ms: int = field(Int64, since=2, default=-1, ignorable=True)
    # -1 if unknown
    log_start_offset: int = field(Int64, since=5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field(
        Array(BatchIndexAndErrorMessage), since=8, ignorable=True, default_factory=list
    )
    error_message: str | None = field(String, since=8, nullable=0, default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, since=10, tag=0, default=None)


@struct
class TopicProduceResponse(Struct):
    name: str = field(String, until=12, ignorable=3, default="")
    topic_id: Uuid = field(UUID, since=13, ignorable=True, default=ZERO_UUID)
    partition_responses: list[PartitionProduceResponse] = field(
        Array(PartitionProduceResponse), default_factory=list
    )


@struct
class NodeEndpoint(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable=0, default=None)


@message(ApiKey.PRODUCE, versions=(0, 13), flexible=9)
class ProduceResponse(Message):
    """Per partition, the offset given to the first record, or an error."""

    responses: list[TopicProduceResponse] = field(Array(TopicProduceResponse), default_factory=list)
    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    node_endpoints: list[NodeEndpoint] = field(
        Array(NodeEndpoint), since=10, tag=0, default_factory=list
    )
