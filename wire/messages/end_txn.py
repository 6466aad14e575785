"""EndTxn: Commit or abort a transaction."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-98) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 error PRODUCER_FENCED (KIP-588) · v3 flexible (KIP-482) ·
# v4 error TRANSACTION_ABORTABLE (KIP-890) ·
# v5 producer_id, producer_epoch in the response: the epoch rises with every transaction (KIP-890)


@message(ApiKey.END_TXN, versions=(0, 5), flexible=3)
class EndTxnRequest(Message):
    """Commit or abort a transaction."""

    transactional_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    # true commits, false aborts
    committed: bool = field(Boolean)


@message(ApiKey.END_TXN, versions=(0, 5), flexible=3)
class EndTxnResponse(Message):
    """Whether the transaction ended, and the producer's next epoch."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    # -1 unless the epoch was raised
    producer_id: int = field(Int64, since=5, default=-1, ignorable=True)
    producer_epoch: int = field(Int16, since=5, default=-1, ignorable=True)
