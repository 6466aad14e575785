"""Control record: last record of a metadata snapshot."""

from barnabas.wire.primitives import Int16
from barnabas.wire.schema import Message, field, message

# v0 (KIP-630)


@message(versions=(0, 0), flexible=0)
class SnapshotFooterRecord(Message):
    version: int = field(Int16)
