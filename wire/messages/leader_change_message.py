"""Control record: a quorum leader's first batch of an epoch."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-595) · v1 voter_directory_id of each voter (KIP-853)


@struct
class Voter(Struct):
    voter_id: int = field(Int32)
    voter_directory_id: Uuid = field(UUID, since=1, default=ZERO_UUID)


@message(versions=(0, 1), flexible=0)
class LeaderChangeMessage(Message):
    version: int = field(Int16)
    leader_id: int = field(Int32)
    voters: list[Voter] = field(Array(Voter), default_factory=list)
    granting_voters: list[Voter] = field(Array(Voter), default_factory=list)
