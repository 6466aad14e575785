"""Body of the quorum-state file: last known leader, epoch and vote."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 cluster_id, applied_offset, current_voters (KIP-595) ·
# v1 voted_directory_id; without cluster_id, applied_offset, current_voters (KIP-853)


@struct
class Voter(Struct):
    voter_id: int = field(Int32)


@message(versions=(0, 1), flexible=0)
class QuorumStateData(Message):
    cluster_id: str = field(String, until=0, default="")
    leader_id: int = field(Int32, default=-1)
    leader_epoch: int = field(Int32, default=-1)
    voted_id: int = field(Int32, default=-1)
    applied_offset: int = field(Int64, until=0, default=0)
    current_voters: list[Voter] | None = field(
        Array(Voter), until=0, nullable=0, default_factory=list
    )
    voted_directory_id: Uuid = field(UUID, since=1, default=ZERO_UUID)
