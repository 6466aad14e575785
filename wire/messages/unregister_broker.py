"""UnregisterBroker: Forget a broker that is gone for good."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-631)


@message(ApiKey.UNREGISTER_BROKER, versions=(0, 0), flexible=0)
class UnregisterBrokerRequest(Message):
    """Forget a broker that is gone for good."""

    broker_id: int = field(Int32)


@message(ApiKey.UNREGISTER_BROKER, versions=(0, 0), flexible=0)
class UnregisterBrokerResponse(Message):
    """Whether the broker was forgotten."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
