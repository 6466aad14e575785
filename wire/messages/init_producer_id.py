"""InitProducerId: Get a producer id and epoch, fencing older instances."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-98) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) ·
# v3 producer_id, producer_epoch of the caller, to bump its epoch (KIP-360) ·
# v4 error PRODUCER_FENCED (KIP-588) · v5 error TRANSACTION_ABORTABLE (KIP-890) ·
# v6 enable2_pc, keep_prepared_txn, ongoing_txn_producer_id, ongoing_txn_producer_epoch:
#   two-phase commit, unstable in 4.4 (KIP-939)


@message(ApiKey.INIT_PRODUCER_ID, versions=(0, 6), flexible=2)
class InitProducerIdRequest(Message):
    """Get a producer id and epoch, fencing older instances."""

    # null for an idempotent producer
    transactional_id: str | None = field(String, nullable=0)
    transaction_timeout_ms: int = field(Int32)
    # -1 if it has none
    producer_id: int = field(Int64, since=3, default=-1)
    # -1 if it has none
    producer_epoch: int = field(Int16, since=3, default=-1)
    enable2_pc: bool = field(Boolean, since=6, default=False)
    keep_prepared_txn: bool = field(Boolean, since=6, default=False)


@message(ApiKey.INIT_PRODUCER_ID, versions=(0, 6), flexible=2)
class InitProducerIdResponse(Message):
    """The producer id and epoch to write with."""

    throttle_time_ms: int = field(Int32, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
    # -1 on error
    producer_id: int = field(Int64, default=-1)
    producer_epoch: int = field(Int16)
    ongoing_txn_producer_id: int = field(Int64, since=6, default=-1)
    ongoing_txn_producer_epoch: int = field(Int16, since=6, default=-1)
