"""DeleteTopics: Delete topics."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 topic_names (KIP-4) · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 error TOPIC_DELETION_DISABLED (KIP-322) · v4 flexible (KIP-482) ·
# v5 error_message, error THROTTLING_QUOTA_EXCEEDED (KIP-599) ·
# v6 topics by name or topic_id instead of topic_names, name nullable (KIP-516) ·
# v0 gone in 4.0 (KIP-896)


@struct
class DeleteTopicState(Struct):
    name: str | None = field(String, nullable=0, default=None)
    topic_id: Uuid = field(UUID)


@message(ApiKey.DELETE_TOPICS, versions=(0, 6), flexible=4)
class DeleteTopicsRequest(Message):
    """Delete topics."""

    topic_names: list[str] = field(Array(String), until=5, ignorable=True, default_factory=list)
    topics: list[DeleteTopicState] = field(Array(DeleteTopicState), since=6, default_factory=list)
    timeout_ms: int = field(Int32)


@struct
class DeletableTopicResult(Struct):
    name: str | None = field(String, nullable=6)
    topic_id: Uuid = field(UUID, since=6, ignorable=True, default=ZERO_UUID)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)


@message(ApiKey.DELETE_TOPICS, versions=(0, 6), flexible=4)
class DeleteTopicsResponse(Message):
    """Per topic, whether it was deleted."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    responses: list[DeletableTopicResult] = field(Array(DeletableTopicResult), default_factory=list)
