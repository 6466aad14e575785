"""BrokerHeartbeat: Keep a broker registered with the KRaft controller."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.uuids import Uuid

# v0 (KIP-631) · v1 tagged offline_log_dirs (KIP-858) · v2 tagged cordoned_log_dirs (KIP-1066)


@message(ApiKey.BROKER_HEARTBEAT, versions=(0, 2), flexible=0)
class BrokerHeartbeatRequest(Message):
    """Keep a broker registered with the KRaft controller."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    # highest metadata offset the broker has applied
    current_metadata_offset: int = field(Int64)
    want_fence: bool = field(Boolean)
    want_shut_down: bool = field(Boolean)
    offline_log_dirs: list[Uuid] = field(Array(UUID), since=1, tag=0, default_factory=list)
    cordoned_log_dirs: list[Uuid] | None = field(
        Array(UUID), since=2, nullable=0, default=None, tag=1
    )


@message(ApiKey.BROKER_HEARTBEAT, versions=(0, 2), flexible=0)
class BrokerHeartbeatResponse(Message):
    """The controller's view of the broker: fenced, caught up, may stop."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    is_caught_up: bool = field(Boolean)
    is_fenced: bool = field(Boolean, default=True)
    should_shut_down: bool = field(Boolean)
