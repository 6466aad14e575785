"""Where static settings come from: files, `--set`, a mapping in a program."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from barnabas.server.settings.names import ConfigError
from barnabas.server.settings.properties import MalformedProperties, parse_properties

COMMAND_LINE: Final = "--set"
PROGRAM: Final = "settings"
"""The places of what is not in a file: typed, or a mapping."""


def settings_of(file: Path) -> list[tuple[str, str, str]]:
    """(name, value, place) of a properties file. Raises ConfigError."""
    try:
        properties = parse_properties(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except MalformedProperties as error:
        raise ConfigError(f"{file}:{error.line}: {error}") from None
    return [(each.name, each.value, f"{file}:{each.line}") for each in properties]


def pairs_of(overrides: Iterable[str] | Mapping[str, object]) -> Iterable[tuple[str, str, str]]:
    """(name, value, place) of name=value texts or of a mapping. Raises ConfigError."""
    if isinstance(overrides, Mapping):
        for name, value in overrides.items():
            yield name, _as_text(value), PROGRAM
        return
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {override}: write it as name=value")
        yield name.strip(), value.strip(), COMMAND_LINE


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(str(each) for each in value)
    return str(value)
