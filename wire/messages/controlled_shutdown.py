"""ControlledShutdown: Ask the ZooKeeper-era controller to move leaders off a broker."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 its header (v0) has no client_id · v1 usual header · v2 broker_epoch (KIP-380) ·
# v3 flexible (KIP-482) · gone in 4.0


@message(ApiKey.CONTROLLED_SHUTDOWN, versions=(0, 3), flexible=3)
class ControlledShutdownRequest(Message):
    """Ask the ZooKeeper-era controller to move leaders off a broker."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, since=2, default=-1, ignorable=True)


@struct
class RemainingPartition(Struct):
    topic_name: str = field(String)
    partition_index: int = field(Int32)


@message(ApiKey.CONTROLLED_SHUTDOWN, versions=(0, 3), flexible=3)
class ControlledShutdownResponse(Message):
    """Partitions the stopping broker still leads."""

    error_code: int = field(Int16, default=0)
    remaining_partitions: list[RemainingPartition] = field(
        Array(RemainingPartition), default_factory=list
    )
