"""Control record: version of the quorum's own protocol."""

from barnabas.wire.primitives import Int16
from barnabas.wire.schema import Message, field, message

# v0 (KIP-853)


@message(versions=(0, 0), flexible=0)
class KRaftVersionRecord(Message):
    version: int = field(Int16)
    kraft_version: int = field(Int16, kafka_name="KRaftVersion")
