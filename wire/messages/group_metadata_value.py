"""A classic group's generation, protocol and members."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 generation, protocol, leader, members · v1 rebalance_timeout of each member (KIP-62) ·
# v2 current_state_timestamp (KIP-211) · v3 group_instance_id of each member (KIP-345) ·
# v4 flexible (KIP-915)


@struct
class MemberMetadata(Struct):
    member_id: str = field(String, kafka_name="memberId")
    group_instance_id: str | None = field(
        String, since=3, nullable=0, default=None, ignorable=True, kafka_name="groupInstanceId"
    )
    client_id: str = field(String, kafka_name="clientId")
    client_host: str = field(String, kafka_name="clientHost")
    rebalance_timeout: int = field(
        Int32, since=1, default=-1, ignorable=True, kafka_name="rebalanceTimeout"
    )
    session_timeout: int = field(Int32, kafka_name="sessionTimeout")
    subscription: bytes = field(Bytes, kafka_name="subscription")
    assignment: bytes = field(Bytes, kafka_name="assignment")


@message(versions=(0, 4), flexible=4)
class GroupMetadataValue(Message):
    protocol_type: str = field(String, kafka_name="protocolType")
    generation: int = field(Int32, kafka_name="generation")
    protocol: str | None = field(String, nullable=0, kafka_name="protocol")
    leader: str | None = field(String, nullable=0, kafka_name="leader")
    current_state_timestamp: int = field(
        Int64, since=2, default=-1, ignorable=True, kafka_name="currentStateTimestamp"
    )
    members: list[MemberMetadata] = field(
        Array(MemberMetadata), kafka_name="members", default_factory=list
    )
