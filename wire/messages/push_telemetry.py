"""PushTelemetry: Send client metrics to the broker."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import Bytes
from barnabas.wire.uuids import Uuid

# v0 (KIP-714)


@message(ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible=0)
class PushTelemetryRequest(Message):
    """Send client metrics to the broker."""

    client_instance_id: Uuid = field(UUID)
    subscription_id: int = field(Int32)
    terminating: bool = field(Boolean)
    compression_type: int = field(Int8)
    metrics: bytes = field(Bytes)


@message(ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible=0)
class PushTelemetryResponse(Message):
    """Whether the metrics were taken."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
