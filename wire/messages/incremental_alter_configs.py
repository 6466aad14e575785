"""IncrementalAlterConfigs: Set, delete, append to or subtract from single settings."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-339) · v1 flexible (KIP-482)


@struct
class AlterableConfig(Struct):
    name: str = field(String)
    # 0 set, 1 delete, 2 append, 3 subtract
    config_operation: int = field(Int8)
    value: str | None = field(String, nullable=0, secret=True)


@struct
class AlterConfigsResource(Struct):
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    configs: list[AlterableConfig] = field(Array(AlterableConfig), default_factory=list)


@message(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsRequest(Message):
    """Set, delete, append to or subtract from single settings."""

    resources: list[AlterConfigsResource] = field(Array(AlterConfigsResource), default_factory=list)
    validate_only: bool = field(Boolean)


@struct
class AlterConfigsResourceResponse(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    resource_type: int = field(Int8)
    resource_name: str = field(String)


@message(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsResponse(Message):
    """Per resource, whether its settings changed."""

    throttle_time_ms: int = field(Int32, default=0)
    responses: list[AlterConfigsResourceResponse] = field(
        Array(AlterConfigsResourceResponse), default_factory=list
    )
