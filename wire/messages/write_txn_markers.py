"""WriteTxnMarkers: Write commit or abort markers into partitions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-98) · v1 flexible (KIP-482) · v2 transaction_version of each marker (KIP-1228) ·
# v0 gone in 4.0 (KIP-896)


@struct
class WritableTxnMarkerTopic(Struct):
    name: str = field(String)
    partition_indexes: list[int] = field(Array(Int32), default_factory=list)


@struct
class WritableTxnMarker(Struct):
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    # true commits, false aborts
    transaction_result: bool = field(Boolean)
    topics: list[WritableTxnMarkerTopic] = field(
        Array(WritableTxnMarkerTopic), default_factory=list
    )
    coordinator_epoch: int = field(Int32)
    transaction_version: int = field(Int8, since=2, ignorable=True, default=0)


@message(ApiKey.WRITE_TXN_MARKERS, versions=(0, 2), flexible=1)
class WriteTxnMarkersRequest(Message):
    """Write commit or abort markers into partitions."""

    markers: list[WritableTxnMarker] = field(Array(WritableTxnMarker), default_factory=list)


@struct
class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class WritableTxnMarkerTopicResult(Struct):
    name: str = field(String)
    partitions: list[WritableTxnMarkerPartitionResult] = field(
        Array(WritableTxnMarkerPartitionResult), default_factory=list
    )


@struct
class WritableTxnMarkerResult(Struct):
    producer_id: int = field(Int64)
    topics: list[WritableTxnMarkerTopicResult] = field(
        Array(WritableTxnMarkerTopicResult), default_factory=list
    )


@message(ApiKey.WRITE_TXN_MARKERS, versions=(0, 2), flexible=1)
class WriteTxnMarkersResponse(Message):
    """Per producer and partition, whether the marker was written."""

    markers: list[WritableTxnMarkerResult] = field(
        Array(WritableTxnMarkerResult), default_factory=list
    )
