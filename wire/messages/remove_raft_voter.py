"""RemoveRaftVoter: Make a voter of the metadata quorum an observer."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-853)


@message(ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), flexible=0)
class RemoveRaftVoterRequest(Message):
    """Make a voter of the metadata quorum an observer."""

    cluster_id: str | None = field(String, nullable=0)
    voter_id: int = field(Int32)
    voter_directory_id: Uuid = field(UUID)


@message(ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), flexible=0)
class RemoveRaftVoterResponse(Message):
    """Whether the voter was removed."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, ignorable=True, default="")
