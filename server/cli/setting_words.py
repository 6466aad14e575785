"""Settings by name with the values that can be offered: those of which there are few."""

import re

from barnabas.storage.setting_types import Kind, Limit


def topic_settings() -> dict[str, tuple[str, ...]]:
    """The settings of topics."""
    from barnabas.storage.log_config import SETTINGS

    return {name: _values(each.kind, each.limit) for name, each in SETTINGS.items()}


def broker_settings() -> dict[str, tuple[str, ...]]:
    """The settings of brokers."""
    from barnabas.server.settings.table import settings

    return {name: _values(each.kind, each.limit) for name, each in settings().items()}


def _values(kind: Kind, limit: Limit) -> tuple[str, ...]:
    if kind.name.lower() == "boolean":
        return ("true", "false")
    words = re.fullmatch(r"\[([\w., -]+)\]", limit.describe)
    found = tuple(words[1].split(", ")) if words and not re.search(r"\d", words[1]) else ()
    return (*found, ",".join(found)) if kind.name.lower() == "list" and len(found) > 1 else found
