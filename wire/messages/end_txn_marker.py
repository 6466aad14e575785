"""Value of a commit or abort marker in a log."""

from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, field, message

# v0 (KIP-98)


@message(versions=(0, 0))
class EndTxnMarker(Message):
    coordinator_epoch: int = field(Int32)
