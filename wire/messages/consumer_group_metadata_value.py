"""Epoch of a consumer group."""

from barnabas.wire.primitives import Int32, Int64
from barnabas.wire.schema import Message, field, message

# v0 (KIP-848); from 4.1 tagged metadata_hash (KIP-1101)


@message(versions=(0, 0), flexible=0)
class ConsumerGroupMetadataValue(Message):
    epoch: int = field(Int32)
    metadata_hash: int = field(Int64, tag=0, default=0)
