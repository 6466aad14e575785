"""AllocateProducerIds: Ask the controller for a block of producer ids."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message

# v0 (KIP-730)


@message(ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), flexible=0)
class AllocateProducerIdsRequest(Message):
    """Ask the controller for a block of producer ids."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)


@message(ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), flexible=0)
class AllocateProducerIdsResponse(Message):
    """The block of producer ids the broker now owns."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    producer_id_start: int = field(Int64)
    producer_id_len: int = field(Int32)
