"""One entry of a segment's transaction index: an aborted transaction."""

from barnabas.wire.primitives import Int64
from barnabas.wire.schema import Message, field, message

# v0 (KIP-98)


@message(versions=(0, 0))
class AbortedTxn(Message):
    producer_id: int = field(Int64)
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    # as it was when the abort marker was written
    last_stable_offset: int = field(Int64)
