"""Epoch of a share group and hash of the topics it sees."""

from barnabas.wire.primitives import Int32, Int64
from barnabas.wire.schema import Message, field, message

# v0 (KIP-932)


@message(versions=(0, 0), flexible=0)
class ShareGroupMetadataValue(Message):
    epoch: int = field(Int32)
    metadata_hash: int = field(Int64)
