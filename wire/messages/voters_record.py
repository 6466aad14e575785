"""Control record: the quorum's voters and their addresses."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-853)


@struct
class Endpoint(Struct):
    name: str = field(String)
    host: str = field(String)
    port: int = field(Uint16)


@struct
class KraftVersionFeature(Struct):
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@struct
class Voter(Struct):
    voter_id: int = field(Int32)
    voter_directory_id: Uuid = field(UUID)
    endpoints: list[Endpoint] = field(Array(Endpoint), default_factory=list)
    kraft_version_feature: KraftVersionFeature = field(
        KraftVersionFeature, kafka_name="KRaftVersionFeature"
    )


@message(versions=(0, 0), flexible=0)
class VotersRecord(Message):
    version: int = field(Int16)
    voters: list[Voter] = field(Array(Voter), default_factory=list)
