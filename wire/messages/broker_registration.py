"""BrokerRegistration: Register a broker with the KRaft controller."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32, Int64, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-631) · v1 is_migrating_zk_broker (KIP-866) · v2 log_dirs (KIP-858) ·
# v3 previous_broker_epoch (KIP-966) ·
# v4 min_supported_version of a feature may be 0 (KAFKA-17011)


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


@message(ApiKey.BROKER_REGISTRATION, versions=(0, 4), flexible=0)
class BrokerRegistrationRequest(Message):
    """Register a broker with the KRaft controller."""

    broker_id: int = field(Int32)
    cluster_id: str = field(String)
    incarnation_id: Uuid = field(UUID)
    listeners: list[Listener] = field(Array(Listener), default_factory=list)
    features: list[Feature] = field(Array(Feature), default_factory=list)
    rack: str | None = field(String, nullable=0)
    is_migrating_zk_broker: bool = field(Boolean, since=1, default=False)
    log_dirs: list[Uuid] = field(Array(UUID), since=2, ignorable=True, default_factory=list)
    # epoch before a clean shutdown, -1 if unknown
    previous_broker_epoch: int = field(Int64, since=3, default=-1, ignorable=True)


@message(ApiKey.BROKER_REGISTRATION, versions=(0, 4), flexible=0)
class BrokerRegistrationResponse(Message):
    """The epoch of this registration."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    broker_epoch: int = field(Int64, default=-1)
