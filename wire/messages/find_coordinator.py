"""FindCoordinator: Find the broker that coordinates groups or transactions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 coordinator of one group ·
# v1 key_type group or transaction, error_message (KIP-98), throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) · v3 flexible (KIP-482) ·
# v4 coordinator_keys and coordinators instead of key and a single answer (KIP-699) ·
# v5 error TRANSACTION_ABORTABLE (KIP-890) ·
# v6 key_type 2: share coordinator, key group:topic id:partition (KIP-932)


@message(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible=3)
class FindCoordinatorRequest(Message):
    """Find the broker that coordinates groups or transactions."""

    key: str = field(String, until=3, default="")
    # 0 group, 1 transaction, 2 share
    key_type: int = field(Int8, since=1, default=0)
    coordinator_keys: list[str] = field(Array(String), since=4, default_factory=list)


@struct
class Coordinator(Struct):
    key: str = field(String)
    # -1 if not found
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, ignorable=True, default="")


@message(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible=3)
class FindCoordinatorResponse(Message):
    """The coordinator's id and address."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    error_code: int = field(Int16, until=3, default=0)
    error_message: str | None = field(
        String, since=1, until=3, nullable=0, ignorable=True, default=""
    )
    # -1 if not found
    node_id: int = field(Int32, until=3, default=0)
    host: str = field(String, until=3, default="")
    port: int = field(Int32, until=3, default=0)
    coordinators: list[Coordinator] = field(Array(Coordinator), since=4, default_factory=list)
