"""AddOffsetsToTxn: Put a group's offsets partition under a transaction."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-98) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 error PRODUCER_FENCED (KIP-588) · v3 flexible (KIP-482) ·
# v4 error TRANSACTION_ABORTABLE (KIP-890)


@message(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible=3)
class AddOffsetsToTxnRequest(Message):
    """Put a group's offsets partition under a transaction."""

    transactional_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    group_id: str = field(String)


@message(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible=3)
class AddOffsetsToTxnResponse(Message):
    """Whether the group's offsets partition joined the transaction."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
