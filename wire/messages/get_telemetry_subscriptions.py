"""GetTelemetrySubscriptions: Ask which client metrics the broker wants."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-714)


@message(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsRequest(Message):
    """Ask which client metrics the broker wants."""

    client_instance_id: Uuid = field(UUID)


@message(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsResponse(Message):
    """Metrics wanted, how often and in what encoding."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    client_instance_id: Uuid = field(UUID)
    subscription_id: int = field(Int32)
    accepted_compression_types: list[int] = field(Array(Int8), default_factory=list)
    push_interval_ms: int = field(Int32)
    telemetry_max_bytes: int = field(Int32)
    delta_temporality: bool = field(Boolean)
    requested_metrics: list[str] = field(Array(String), default_factory=list)
