"""Every setting of a resource, its value and where that comes from."""

from collections.abc import Collection

from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import name_fault
from barnabas.server.settings.changes.resources import (
    CLUSTER_DEFAULT,
    ResourceType,
    broker_id_of,
    resource_type,
)
from barnabas.server.settings.changes.services import SettingsServices
from barnabas.server.settings.describe import (
    ConfigEntry,
    describe_broker,
    describe_cluster_default,
    describe_topic,
)
from barnabas.wire.error_codes import ErrorCode

Names = Collection[str] | None


async def describe_resource(
    services: SettingsServices, type_number: int, name: str, names: Names
) -> list[ConfigEntry]:
    """The settings of a resource; `names` None or empty means all of them. Raises ApiError."""
    match resource_type(type_number):
        case ResourceType.TOPIC:
            return await _topic(services, name, names)
        case ResourceType.BROKER:
            return _broker(services, name, names)
        case ResourceType.BROKER_LOGGER:
            return _loggers(services, name, names)
    raise ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {type_number}")


async def _topic(services: SettingsServices, name: str, names: Names) -> list[ConfigEntry]:
    if (fault := name_fault(name)) is not None:
        raise fault
    if name not in services.topics:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    own = await services.topic_settings.read_own(name)
    return describe_topic(services.config, own, names)


def _broker(services: SettingsServices, name: str, names: Names) -> list[ConfigEntry]:
    if name == CLUSTER_DEFAULT:
        return describe_cluster_default(services.config, names)
    _require_this_broker(services, name, " or empty string, but")
    return describe_broker(services.config, names)


def _loggers(services: SettingsServices, name: str, names: Names) -> list[ConfigEntry]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    _require_this_broker(services, name, " but")
    return services.log_levels.describe(names)


def _require_this_broker(services: SettingsServices, name: str, but: str) -> None:
    if broker_id_of(name, "Broker") != services.broker_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {services.broker_id}{but} received {name}",
        )
