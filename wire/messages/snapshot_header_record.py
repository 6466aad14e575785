"""Control record: first record of a metadata snapshot."""

from barnabas.wire.primitives import Int16, Int64
from barnabas.wire.schema import Message, field, message

# v0 (KIP-630)


@message(versions=(0, 0), flexible=0)
class SnapshotHeaderRecord(Message):
    version: int = field(Int16)
    last_contained_log_timestamp: int = field(Int64)
