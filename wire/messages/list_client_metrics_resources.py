"""ListClientMetricsResources: List the client metrics subscriptions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1000) · renamed ListConfigResources in 4.1


@message(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 0), flexible=0)
class ListClientMetricsResourcesRequest(Message):
    """List the client metrics subscriptions."""


@struct
class ClientMetricsResource(Struct):
    name: str = field(String)


@message(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 0), flexible=0)
class ListClientMetricsResourcesResponse(Message):
    """Names of the client metrics subscriptions."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    client_metrics_resources: list[ClientMetricsResource] = field(
        Array(ClientMetricsResource), default_factory=list
    )
