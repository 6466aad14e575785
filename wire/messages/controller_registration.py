"""ControllerRegistration: Register a controller with the active controller."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-919)


@struct
class Listener(Struct):
    name: str = field(String)
    host: str = field(String)
    port: int = field(Uint16)
    security_protocol: int = field(Int16)


@struct
class Feature(Struct):
    name: str = field(String)
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(ApiKey.CONTROLLER_REGISTRATION, versions=(0, 0), flexible=0)
class ControllerRegistrationRequest(Message):
    """Register a controller with the active controller."""

    controller_id: int = field(Int32)
    incarnation_id: Uuid = field(UUID)
    zk_migration_ready: bool = field(Boolean)
    listeners: list[Listener] = field(Array(Listener), default_factory=list)
    features: list[Feature] = field(Array(Feature), default_factory=list)


@message(ApiKey.CONTROLLER_REGISTRATION, versions=(0, 0), flexible=0)
class ControllerRegistrationResponse(Message):
    """Whether the controller was registered."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
