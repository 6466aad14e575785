"""AddRaftVoter: Make an observer a voter of the metadata quorum."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-853) · v1 ack_when_committed: false answers before the change is committed (KIP-1186)


@struct
class Listener(Struct):
    name: str = field(String)
    host: str = field(String)
    port: int = field(Uint16)


@message(ApiKey.ADD_RAFT_VOTER, versions=(0, 1), flexible=0)
class AddRaftVoterRequest(Message):
    """Make an observer a voter of the metadata quorum."""

    cluster_id: str | None = field(String, nullable=0)
    timeout_ms: int = field(Int32)
    voter_id: int = field(Int32)
    voter_directory_id: Uuid = field(UUID)
    listeners: list[Listener] = field(Array(Listener), default_factory=list)
    ack_when_committed: bool = field(Boolean, since=1, default=True)


@message(ApiKey.ADD_RAFT_VOTER, versions=(0, 1), flexible=0)
class AddRaftVoterResponse(Message):
    """Whether the voter was added."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, ignorable=True, default="")
