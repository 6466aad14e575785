"""DeleteShareGroupOffsets: Forget a share group's state for topics."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932)


@struct
class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field(String)


@message(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsRequest(Message):
    """Forget a share group's state for topics."""

    group_id: str = field(String)
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(
        Array(DeleteShareGroupOffsetsRequestTopic), default_factory=list
    )


@struct
class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field(String)
    topic_id: Uuid = field(UUID)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@message(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsResponse(Message):
    """Per topic, whether the state was forgotten."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(
        Array(DeleteShareGroupOffsetsResponseTopic), default_factory=list
    )
