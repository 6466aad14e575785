"""ListConfigResources: List the resources that have dynamic settings."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 as ListClientMetricsResources of 3.9 (KIP-1000) ·
# v1 resource_types, resource_type: all kinds of resources (KIP-1142)


@message(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible=0)
class ListConfigResourcesRequest(Message):
    """List the resources that have dynamic settings."""

    resource_types: list[int] = field(Array(Int8), since=1, default_factory=list)


@struct
class ConfigResource(Struct):
    resource_name: str = field(String)
    resource_type: int = field(Int8, since=1, default=16, ignorable=True)


@message(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible=0)
class ListConfigResourcesResponse(Message):
    """Names and types of resources with settings."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    config_resources: list[ConfigResource] = field(Array(ConfigResource), default_factory=list)
