"""UnregisterController: Forget a controller that is gone for good."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (not in 3.9)


@message(ApiKey.UNREGISTER_CONTROLLER, versions=(0, 0), flexible=0)
class UnregisterControllerRequest(Message):
    """Forget a controller that is gone for good."""

    controller_id: int = field(Int32)


@message(ApiKey.UNREGISTER_CONTROLLER, versions=(0, 0), flexible=0)
class UnregisterControllerResponse(Message):
    """Whether the controller was forgotten."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
