"""Altering a resource's settings: judge the outcome, write it, tell all brokers.

This broker has put a change in force when `alter_resource` returns; others when their watch
has told them. Codes and most of the words are those of Kafka's ZkAdminManager.
"""

from collections.abc import Callable, Collection, Mapping

from barnabas.server.core.errors import ApiError
from barnabas.server.settings.changes.alterations import (
    Alteration,
    ListOf,
    Operation,
    altered,
    check_alterations,
    check_size,
    replaced,
)
from barnabas.server.settings.changes.resources import (
    CLUSTER_DEFAULT,
    ResourceType,
    broker_id_of,
    broker_path,
    topic_path,
)
from barnabas.server.settings.changes.services import SettingsServices
from barnabas.server.settings.changes.topic_settings import check_topic_settings
from barnabas.server.settings.names import ConfigError, base_name
from barnabas.server.settings.table import settings
from barnabas.storage.log_config import SETTINGS as LOG_SETTINGS
from barnabas.wire.error_codes import ErrorCode


class Change:
    """What a request wants of one resource."""

    def __init__(
        self, alterations: Collection[Alteration], *, validate_only: bool, replaces: bool = False
    ) -> None:
        """`replaces`: the resource is to have these settings and no others of its own."""
        self.alterations = alterations
        self.validate_only = validate_only
        self.replaces = replaces

    def topic(self, own: Mapping[str, str]) -> dict[str, str]:
        """The own settings of a topic after it."""
        return self._applied(own, _topic_list)

    def broker(self, own: Mapping[str, str]) -> dict[str, str]:
        """The own settings of a broker, or of all of them, after it."""
        return self._applied(own, _broker_list)

    def _applied(self, own: Mapping[str, str], list_of: ListOf) -> dict[str, str]:
        if self.replaces:
            return replaced(self.alterations)
        result = altered(own, self.alterations, list_of)
        check_size(result.items())
        return result


async def alter_resource(
    services: SettingsServices, type_number: int, name: str, change: Change
) -> None:
    """Alter one resource's settings; raises ApiError."""
    check_alterations(change.alterations)
    if type_number == ResourceType.TOPIC:
        await _alter_topic(services, name, change)
    elif type_number == ResourceType.BROKER:
        await _alter_broker(services, name, change)
    elif type_number == ResourceType.BROKER_LOGGER and not change.replaces:
        _alter_loggers(services, name, change)
    else:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {type_number}")


async def _alter_topic(services: SettingsServices, name: str, change: Change) -> None:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    if name not in services.topics:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")

    def altered_settings(own: dict[str, str]) -> dict[str, str]:
        wanted = change.topic(own)
        check_topic_settings(wanted, services.config)
        return wanted

    await _alter(services, topic_path(name), altered_settings, change.validate_only)


async def _alter_broker(services: SettingsServices, name: str, change: Change) -> None:
    broker_id = None if name == CLUSTER_DEFAULT else broker_id_of(name)
    if broker_id not in (None, services.broker_id):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {services.broker_id}, but received {name}",
        )

    def altered_settings(own: dict[str, str]) -> dict[str, str]:
        wanted = change.broker(own)
        try:
            if broker_id is None:
                services.config.check_dynamic(default=wanted)
            else:
                services.config.check_dynamic(broker=wanted)
        except ConfigError as error:
            raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from None
        _refuse_secrets(wanted)
        return wanted

    await _alter(services, broker_path(broker_id), altered_settings, change.validate_only)


def _refuse_secrets(wanted: Mapping[str, str]) -> None:
    """The registry would keep a password as it is, for everybody to read."""
    for name in wanted:
        setting = settings().get(base_name(name))
        if setting is not None and setting.sensitive:
            raise ApiError(
                ErrorCode.INVALID_CONFIG, f"{name} can only be set in the broker's own file"
            )


def _alter_loggers(services: SettingsServices, name: str, change: Change) -> None:
    if broker_id_of(name) != services.broker_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected node id. Expected {services.broker_id}, but received {name}",
        )
    for _, operation, _ in change.alterations:
        if operation in (Operation.APPEND, Operation.SUBTRACT):
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"{Operation(operation).name} operation is not allowed for the BROKER_LOGGER "
                "resource",
            )
    levels = {
        name: None if operation == Operation.DELETE else value
        for name, operation, value in change.alterations
    }
    services.log_levels.check(levels)
    if not change.validate_only:
        services.log_levels.change(levels)


async def _alter(
    services: SettingsServices,
    path: str,
    altered_settings: Callable[[dict[str, str]], dict[str, str]],
    validate_only: bool,
) -> None:
    """Judge and write; judged anew where another broker has changed the same meanwhile."""
    configs = services.stored
    if validate_only:
        altered_settings(await configs.read(path))
        return
    await configs.update(path, altered_settings)
    await configs.notify(path)
    await services.live.catch_up()


def _topic_list(name: str) -> Collection[str] | None:
    setting = LOG_SETTINGS.get(name)
    if setting is None or setting.kind.name != "LIST":
        return None
    return list(setting.default)


def _broker_list(name: str) -> Collection[str] | None:
    setting = settings().get(base_name(name))
    if setting is None or setting.kind.name != "LIST":
        return None
    return [part for part in (setting.default_text or "").split(",") if part]
