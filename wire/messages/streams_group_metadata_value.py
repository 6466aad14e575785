"""Epochs of a streams group and what its last assignment used."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071); tagged validated_topology_epoch, last_assignment_configs,
#   stored_description_topology_epoch and failed_description_topology_epoch (KIP-1331)


@struct
class LastAssignmentConfig(Struct):
    key: str = field(String)
    value: str = field(String)


@message(versions=(0, 0), flexible=0)
class StreamsGroupMetadataValue(Message):
    epoch: int = field(Int32)
    metadata_hash: int = field(Int64)
    validated_topology_epoch: int = field(Int32, default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(
        Array(LastAssignmentConfig), nullable=0, tag=1, default_factory=list
    )
    stored_description_topology_epoch: int = field(Int32, default=-1, tag=2)
    failed_description_topology_epoch: int = field(Int32, default=-1, tag=3)
