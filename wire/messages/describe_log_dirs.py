"""DescribeLogDirs: Ask what lies in a broker's data directories."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-113) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) · v3 error_code of the whole answer (KIP-784) ·
# v4 total_bytes, usable_bytes (KIP-827) · v5 is_cordoned (KIP-1066) · v0 gone in 4.0 (KIP-896)


@struct
class DescribableLogDirTopic(Struct):
    topic: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.DESCRIBE_LOG_DIRS, versions=(0, 5), flexible=2)
class DescribeLogDirsRequest(Message):
    """Ask what lies in a broker's data directories."""

    # null for all
    topics: list[DescribableLogDirTopic] | None = field(
        Array(DescribableLogDirTopic), nullable=0, default_factory=list
    )


@struct
class DescribeLogDirsPartition(Struct):
    partition_index: int = field(Int32)
    partition_size: int = field(Int64)
    # behind the high watermark, or, for a copy, behind its source
    offset_lag: int = field(Int64)
    # a copy on its way to this directory
    is_future_key: bool = field(Boolean)


@struct
class DescribeLogDirsTopic(Struct):
    name: str = field(String)
    partitions: list[DescribeLogDirsPartition] = field(
        Array(DescribeLogDirsPartition), default_factory=list
    )


@struct
class DescribeLogDirsResult(Struct):
    error_code: int = field(Int16, default=0)
    log_dir: str = field(String)
    topics: list[DescribeLogDirsTopic] = field(Array(DescribeLogDirsTopic), default_factory=list)
    # -1 if unknown
    total_bytes: int = field(Int64, since=4, default=-1, ignorable=True)
    # -1 if unknown
    usable_bytes: int = field(Int64, since=4, default=-1, ignorable=True)
    is_cordoned: bool = field(Boolean, since=5, ignorable=True, default=False)


@message(ApiKey.DESCRIBE_LOG_DIRS, versions=(0, 5), flexible=2)
class DescribeLogDirsResponse(Message):
    """Per data directory, its replicas, their sizes and its space."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, since=3, ignorable=True, default=0)
    results: list[DescribeLogDirsResult] = field(Array(DescribeLogDirsResult), default_factory=list)
