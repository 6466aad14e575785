"""AlterClientQuotas: Set or remove quotas of users, clients and addresses."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Float64, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-546) · v1 flexible (KIP-482)


@struct
class EntityDataRequest(Struct):
    entity_type: str = field(String)
    # null for the default entity
    entity_name: str | None = field(String, nullable=0)


@struct
class OpData(Struct):
    key: str = field(String)
    value: float = field(Float64)
    remove: bool = field(Boolean)


@struct
class EntryDataRequest(Struct):
    entity: list[EntityDataRequest] = field(Array(EntityDataRequest), default_factory=list)
    ops: list[OpData] = field(Array(OpData), default_factory=list)


@message(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class AlterClientQuotasRequest(Message):
    """Set or remove quotas of users, clients and addresses."""

    entries: list[EntryDataRequest] = field(Array(EntryDataRequest), default_factory=list)
    validate_only: bool = field(Boolean)


@struct
class EntityDataResponse(Struct):
    entity_type: str = field(String)
    entity_name: str | None = field(String, nullable=0)


@struct
class EntryDataResponse(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    entity: list[EntityDataResponse] = field(Array(EntityDataResponse), default_factory=list)


@message(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class AlterClientQuotasResponse(Message):
    """Per quota entity, whether the change was taken."""

    throttle_time_ms: int = field(Int32, default=0)
    entries: list[EntryDataResponse] = field(Array(EntryDataResponse), default_factory=list)
