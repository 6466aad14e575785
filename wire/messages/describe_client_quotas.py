"""DescribeClientQuotas: List the quotas that match a filter."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Float64, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-546) · v1 flexible (KIP-482)


@struct
class ComponentData(Struct):
    entity_type: str = field(String)
    # 0 this name, 1 the default entity, 2 any name
    match_type: int = field(Int8)
    match: str | None = field(String, nullable=0)


@message(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class DescribeClientQuotasRequest(Message):
    """List the quotas that match a filter."""

    components: list[ComponentData] = field(Array(ComponentData), default_factory=list)
    # exclude entities with other components
    strict: bool = field(Boolean)


@struct
class EntityData(Struct):
    entity_type: str = field(String)
    entity_name: str | None = field(String, nullable=0)


@struct
class ValueData(Struct):
    key: str = field(String)
    value: float = field(Float64)


@struct
class EntryData(Struct):
    entity: list[EntityData] = field(Array(EntityData), default_factory=list)
    values: list[ValueData] = field(Array(ValueData), default_factory=list)


@message(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class DescribeClientQuotasResponse(Message):
    """Matching quota entities and their values."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    entries: list[EntryData] | None = field(Array(EntryData), nullable=0, default_factory=list)
