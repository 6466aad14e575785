"""The rooms of the broker's log as Kafka's broker loggers, whose levels last until a restart.

Every room is a logger of its name; `root` is what holds for the others. Levels are Kafka's:
FATAL is ERROR here, since nothing is more urgent. Source: kafka.utils.Log4jController.
"""

from collections.abc import Collection, Mapping

from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Logs
from barnabas.server.settings.describe import ConfigEntry, ConfigSource
from barnabas.wire.error_codes import ErrorCode

ROOT = "root"
UNKNOWN_TYPE = 0
LEVEL_NAMES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")


class LogLevels:
    """The levels of one broker's log."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    def describe(self, names: Collection[str] | None) -> list[ConfigEntry]:
        """Every logger's level; `names` None or empty means all of them."""
        levels = {ROOT: self._logs.default_level, **self._logs.levels()}
        return [_entry(name, level) for name, level in levels.items() if not names or name in names]

    def check(self, levels: Mapping[str, str | None]) -> None:
        """Refuse loggers and levels that do not exist; None takes a level back.

        Raises ApiError INVALID_CONFIG, or INVALID_REQUEST for a root without a level.
        """
        known = self._logs.levels()
        for name, level in levels.items():
            if name != ROOT and name not in known:
                raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
            if level is None and name == ROOT:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST,
                    f"Removing the log level of the {ROOT} logger is not allowed",
                )
            if level is not None and level not in LEVEL_NAMES:
                raise ApiError(
                    ErrorCode.INVALID_CONFIG,
                    f"Cannot set the log level of {name} to {level} as it is not a supported "
                    f"log level. Valid log levels are {', '.join(LEVEL_NAMES)}",
                )

    def change(self, levels: Mapping[str, str | None]) -> None:
        """Put levels in force that `check` has let through."""
        for name, level in levels.items():
            self._logs.set_level(None if name == ROOT else name, _own_name(level))


def _own_name(level: str | None) -> str | None:
    if level is None:
        return None
    return "error" if level == "FATAL" else level.lower()


def _entry(name: str, level: str) -> ConfigEntry:
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return ConfigEntry(name, level, False, source, False, (), UNKNOWN_TYPE, "")
