"""UpdateRaftVoter: Change a voter's addresses and supported versions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-853)


@struct
class Listener(Struct):
    name: str = field(String)
    host: str = field(String)
    port: int = field(Uint16)


@struct
class KraftVersionFeature(Struct):
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(ApiKey.UPDATE_RAFT_VOTER, versions=(0, 0), flexible=0)
class UpdateRaftVoterRequest(Message):
    """Change a voter's addresses and supported versions."""

    cluster_id: str | None = field(String, nullable=0)
    current_leader_epoch: int = field(Int32)
    voter_id: int = field(Int32)
    voter_directory_id: Uuid = field(UUID)
    listeners: list[Listener] = field(Array(Listener), default_factory=list)
    kraft_version_feature: KraftVersionFeature = field(
        KraftVersionFeature, kafka_name="KRaftVersionFeature"
    )


@struct
class CurrentLeader(Struct):
    leader_id: int = field(Int32, default=-1)
    leader_epoch: int = field(Int32, default=-1)
    host: str = field(String)
    port: int = field(Int32)


@message(ApiKey.UPDATE_RAFT_VOTER, versions=(0, 0), flexible=0)
class UpdateRaftVoterResponse(Message):
    """Whether the voter changed, and who leads."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    current_leader: CurrentLeader | None = field(CurrentLeader, tag=0, default=None)
