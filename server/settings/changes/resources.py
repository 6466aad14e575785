"""What can have settings: Kafka's ConfigResource types and the names they are kept under."""

from enum import IntEnum

from barnabas.server.core.errors import ApiError
from barnabas.server.registry.configs import BROKERS, DEFAULT, TOPICS
from barnabas.storage.setting_types import INT
from barnabas.wire.error_codes import ErrorCode


class ResourceType(IntEnum):
    """Kafka's numbers for the kinds of resources."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


CLUSTER_DEFAULT = ""
"""The name of the broker resource that stands for all brokers."""


def resource_type(number: int) -> ResourceType:
    """The type with this number; raises ApiError INVALID_REQUEST."""
    try:
        return ResourceType(number)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {_type_name(number)}"
        ) from None


def topic_path(name: str) -> str:
    """Where the registry keeps a topic's own settings."""
    return f"{TOPICS}/{name}"


def broker_path(broker_id: int | None) -> str:
    """Where it keeps a broker's, or with None those that hold for all brokers."""
    return f"{BROKERS}/{DEFAULT if broker_id is None else broker_id}"


def broker_id_of(name: str, kind: str = "Node") -> int:
    """The broker id that a resource's name is; raises ApiError INVALID_REQUEST."""
    try:
        broker_id: int = INT.parse(name)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"{kind} id must be an integer, but it is: {name}"
        ) from None
    return broker_id


def _type_name(number: int) -> str:
    return "UNKNOWN" if number == 0 else str(number)
