"""A committed offset with its metadata."""

from barnabas.wire.primitives import UUID, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 offset, metadata, commit_timestamp · v1 expire_timestamp ·
# v2 without expire_timestamp, retention counts from the group's end (KIP-211) ·
# v3 leader_epoch (KIP-320) · v4 flexible (KIP-915); from 4.x tagged topic_id (KIP-848)


@message(versions=(0, 4), flexible=4)
class OffsetCommitValue(Message):
    offset: int = field(Int64, kafka_name="offset")
    leader_epoch: int = field(Int32, since=3, default=-1, ignorable=True, kafka_name="leaderEpoch")
    metadata: str = field(String, kafka_name="metadata")
    commit_timestamp: int = field(Int64, kafka_name="commitTimestamp")
    expire_timestamp: int = field(
        Int64, since=1, until=1, default=-1, ignorable=True, kafka_name="expireTimestamp"
    )
    topic_id: Uuid = field(
        UUID, since=4, tag=0, ignorable=True, kafka_name="topicId", default=ZERO_UUID
    )
