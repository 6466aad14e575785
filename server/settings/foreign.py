"""What of a file that was written for Kafka does not apply here: said once, not refused.

A KRaft node's settings, tiered storage, and names that some vendor's Kafka or a plugin reads are no
mistakes in a file; a typing error is one, and so is, after `--set` and in a program, everything
that does not apply.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from barnabas.server.settings.names import (
    ConfigError,
    base_name,
    is_free,
    is_typing_error,
)
from barnabas.server.settings.sources import COMMAND_LINE, PROGRAM
from barnabas.server.settings.table import settings
from barnabas.server.settings.without_effect import is_without_effect

_ROLES: Final = "process.roles"
_CONTROLLERS: Final = "controller.listener.names"
_TIERED: Final = "remote.log.storage.system.enable"
_LISTENERS: Final = ("listeners", "advertised.listeners")

KRAFT: Final = (
    "a file for KRaft, which is not here: this broker is a cluster of its own; brokers that are to"
    " be one share a ZooKeeper (`zookeeper.connect`)"
)
KRAFT_WITH_ZOOKEEPER: Final = "a file for KRaft, which is not here: the cluster is ZooKeeper's"
UNKNOWN: Final = "settings that Kafka does not have, left out"
WITHOUT_EFFECT: Final = "settings that have no effect here"


class Note(NamedTuple):
    """What is said of settings of a file, and their names."""

    text: str
    names: tuple[str, ...]


def leave_out_foreign(
    static: Mapping[str, str], places: Mapping[str, str]
) -> tuple[dict[str, str], list[Note]]:
    """The settings that apply here, and what to say of the others.

    Raises ConfigError for a node that is no broker.
    """
    kept = dict(static)
    notes = [
        _leave_out(kept, places, *each)
        for each in (
            (KRAFT_WITH_ZOOKEEPER if static.get("zookeeper.connect") else KRAFT, _of_kraft),
            (UNKNOWN, _is_unknown),
        )
    ]
    if _is_in_file(_ROLES, places) and static[_ROLES].strip():  # blank: with ZooKeeper
        _leave_out_controllers(kept, static, places)
    idle = tuple(name for name in kept if _is_in_file(name, places) and _is_idle(name, kept[name]))
    if _TIERED in idle:
        del kept[_TIERED]
    return kept, [note for note in (*notes, Note(WITHOUT_EFFECT, idle)) if note.names]


def _leave_out(
    kept: dict[str, str],
    places: Mapping[str, str],
    text: str,
    is_foreign: Callable[[str], bool],
) -> Note:
    names = tuple(name for name in kept if _is_in_file(name, places) and is_foreign(name))
    for name in names:
        del kept[name]
    return Note(text, names)


def _of_kraft(name: str) -> bool:
    setting = settings().get(name)
    return setting is not None and setting.area == "kraft"


def _is_unknown(name: str) -> bool:
    return base_name(name) not in settings() and not is_free(name) and not is_typing_error(name)


def _is_idle(name: str, text: str) -> bool:
    """Whether a setting changes nothing, though somebody has changed it."""
    known = settings().get(base_name(name))
    if known is None or not is_without_effect(known.name):
        return False
    return name != known.name or text.strip() != (known.default_text or "")


def _leave_out_controllers(
    kept: dict[str, str], static: Mapping[str, str], places: Mapping[str, str]
) -> None:
    """Without the controllers' listeners; Kafka's default where no other is named."""
    if "broker" not in (role.strip() for role in static[_ROLES].split(",")):
        raise ConfigError(
            f"{places[_ROLES]}: {_ROLES}={static[_ROLES]}: a node that is a controller alone has"
            " nothing to do here; start the brokers' files"
        )
    controllers = {each.strip().upper() for each in static.get(_CONTROLLERS, "").split(",")}
    for name in _LISTENERS:
        if name not in kept or not _is_in_file(name, places):
            continue
        kept[name] = ",".join(_others(kept[name], controllers))
        if not kept[name]:
            del kept[name]


def _others(listeners: str, names: set[str]) -> Iterator[str]:
    for each in listeners.split(","):
        if each.strip().partition("://")[0].upper() not in names:
            yield each


def _is_in_file(name: str, places: Mapping[str, str]) -> bool:
    return places.get(name, PROGRAM) not in (COMMAND_LINE, PROGRAM)
