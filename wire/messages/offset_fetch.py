"""OffsetFetch: Read the offsets that groups committed."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 offsets kept in ZooKeeper · v1 offsets kept in __consumer_offsets ·
# v2 null topics asks for all, error_code of the whole group (KIP-88) ·
# v3 throttle_time_ms (KIP-124) ·
# v4 throttled responses are sent at once, the client waits (KIP-219) ·
# v5 committed_leader_epoch (KIP-320) · v6 flexible (KIP-482) ·
# v7 require_stable, error UNSTABLE_OFFSET_COMMIT (KIP-447) ·
# v8 several groups instead of group_id and topics (KIP-709) ·
# v9 member_id, member_epoch, error STALE_MEMBER_EPOCH (KIP-848) ·
# v10 topics by id instead of name (KIP-848) · v0 gone in 4.0 (KIP-896)


@struct
class OffsetFetchRequestTopic(Struct):
    name: str = field(String)
    partition_indexes: list[int] = field(Array(Int32), default_factory=list)


@struct
class OffsetFetchRequestTopics(Struct):
    name: str = field(String, until=9, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=10, ignorable=True, default=ZERO_UUID)
    partition_indexes: list[int] = field(Array(Int32), default_factory=list)


@struct
class OffsetFetchRequestGroup(Struct):
    group_id: str = field(String)
    member_id: str | None = field(String, since=9, nullable=0, default=None, ignorable=True)
    # -1 outside the consumer protocol
    member_epoch: int = field(Int32, since=9, default=-1, ignorable=True)
    # null asks for all
    topics: list[OffsetFetchRequestTopics] | None = field(
        Array(OffsetFetchRequestTopics), nullable=0, default_factory=list
    )


@message(ApiKey.OFFSET_FETCH, versions=(0, 10), flexible=6)
class OffsetFetchRequest(Message):
    """Read the offsets that groups committed."""

    group_id: str = field(String, until=7, default="")
    # null (from v2) asks for all
    topics: list[OffsetFetchRequestTopic] | None = field(
        Array(OffsetFetchRequestTopic), until=7, nullable=2, default_factory=list
    )
    groups: list[OffsetFetchRequestGroup] = field(
        Array(OffsetFetchRequestGroup), since=8, default_factory=list
    )
    # refuse offsets that an open transaction may replace
    require_stable: bool = field(Boolean, since=7, default=False)


@struct
class OffsetFetchResponsePartition(Struct):
    partition_index: int = field(Int32)
    # -1 if none is committed
    committed_offset: int = field(Int64)
    committed_leader_epoch: int = field(Int32, since=5, default=-1, ignorable=True)
    metadata: str | None = field(String, nullable=0)
    error_code: int = field(Int16, default=0)


@struct
class OffsetFetchResponseTopic(Struct):
    name: str = field(String)
    partitions: list[OffsetFetchResponsePartition] = field(
        Array(OffsetFetchResponsePartition), default_factory=list
    )


@struct
class OffsetFetchResponsePartitions(Struct):
    partition_index: int = field(Int32)
    # -1 if none is committed
    committed_offset: int = field(Int64)
    committed_leader_epoch: int = field(Int32, default=-1, ignorable=True)
    metadata: str | None = field(String, nullable=0)
    error_code: int = field(Int16, default=0)


@struct
class OffsetFetchResponseTopics(Struct):
    name: str = field(String, until=9, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=10, ignorable=True, default=ZERO_UUID)
    partitions: list[OffsetFetchResponsePartitions] = field(
        Array(OffsetFetchResponsePartitions), default_factory=list
    )


@struct
class OffsetFetchResponseGroup(Struct):
    group_id: str = field(String)
    topics: list[OffsetFetchResponseTopics] = field(
        Array(OffsetFetchResponseTopics), default_factory=list
    )
    error_code: int = field(Int16, default=0)


@message(ApiKey.OFFSET_FETCH, versions=(0, 10), flexible=6)
class OffsetFetchResponse(Message):
    """Per partition, the committed offset and its metadata."""

    throttle_time_ms: int = field(Int32, since=3, ignorable=True, default=0)
    topics: list[OffsetFetchResponseTopic] = field(
        Array(OffsetFetchResponseTopic), until=7, default_factory=list
    )
    error_code: int = field(Int16, since=2, until=7, ignorable=True, default=0)
    groups: list[OffsetFetchResponseGroup] = field(
        Array(OffsetFetchResponseGroup), since=8, default_factory=list
    )
