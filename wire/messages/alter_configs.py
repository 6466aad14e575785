"""AlterConfigs: Replace all dynamic settings of resources."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-133) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482)


@struct
class AlterableConfig(Struct):
    name: str = field(String)
    value: str | None = field(String, nullable=0, secret=True)


@struct
class AlterConfigsResource(Struct):
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    configs: list[AlterableConfig] = field(Array(AlterableConfig), default_factory=list)


@message(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2)
class AlterConfigsRequest(Message):
    """Replace all dynamic settings of resources."""

    resources: list[AlterConfigsResource] = field(Array(AlterConfigsResource), default_factory=list)
    validate_only: bool = field(Boolean)


@struct
class AlterConfigsResourceResponse(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    resource_type: int = field(Int8)
    resource_name: str = field(String)


@message(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2)
class AlterConfigsResponse(Message):
    """Per resource, whether its settings were replaced."""

    throttle_time_ms: int = field(Int32, default=0)
    responses: list[AlterConfigsResourceResponse] = field(
        Array(AlterConfigsResourceResponse), default_factory=list
    )
