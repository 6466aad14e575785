"""The broker's settings: read from files and the command line, checked, typed, changed live.

A value comes from the first of these layers that has one:

    dynamic, this broker > dynamic, whole cluster > static (file, --set) > default

The tables in `server/settings` define every setting. `BrokerConfig` carries those that the code
reads as typed attributes (`config.num_partitions`), which change in place when a dynamic
layer does; `settings/describe.py` answers DescribeConfigs from the same layers.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.server.settings.checks import (
    advertised_of,
    check_together,
    connections_per_ip_of,
    data_dirs_of,
    inter_broker_listener_of,
    listeners_of,
)
from barnabas.server.settings.dynamic import check_dynamic_layer
from barnabas.server.settings.endpoints import Endpoint
from barnabas.server.settings.foreign import Note, leave_out_foreign
from barnabas.server.settings.names import ConfigError, find_setting
from barnabas.server.settings.sources import pairs_of, settings_of
from barnabas.server.settings.table import Setting, settings
from barnabas.server.settings.topics import log_config_of
from barnabas.server.settings.typed import TypedSettings
from barnabas.storage.log_config import LogConfig
from barnabas.storage.setting_types import InvalidSetting

__all__ = ["BrokerConfig", "ConfigError", "load_config"]

T = TypeVar("T")

_FROM_4_ON = re.compile("[4-9]|[1-9][0-9]+")

TYPED = {name: name.replace("_", ".") for name in TypedSettings.__annotations__}


def load_config(
    files: Iterable[Path | str] = (),
    overrides: Iterable[str] | Mapping[str, object] = (),
    defaults: Mapping[str, str] | None = None,
) -> "BrokerConfig":
    """The settings of `files` (later ones win) under `overrides`, as name=value or a mapping.

    `defaults` are beneath the files, in the place of Kafka's own.

    What of a file does not apply here (settings for KRaft, for a vendor's Kafka) is left out, and
    said in `notes`. Raises ConfigError, one sentence that names the place, the setting, its value
    and what is allowed.
    """
    static: dict[str, str] = dict(defaults or {})
    places: dict[str, str] = {}
    for file in files:
        for name, value, place in settings_of(Path(file)):
            static[name], places[name] = value, place
    for name, value, place in pairs_of(overrides):
        static[name], places[name] = value, place
    applicable, notes = leave_out_foreign(static, places)
    config = BrokerConfig(applicable, places)
    config.notes = notes
    return config


class BrokerConfig(TypedSettings):
    """The settings of one broker; `static` are those that were given, as text.

    `notes` is what to say of those of a file that do not apply.
    """

    def __init__(
        self, static: Mapping[str, str] | None = None, places: Mapping[str, str] | None = None
    ) -> None:
        self.static = _with_synonyms(static or {}, places or {})
        self.notes: list[Note] = []
        self.dynamic_default: Mapping[str, str] = {}
        self.dynamic_broker: Mapping[str, str] = {}
        self.release = _release_of(self.static.get("barnabas.pose.as", ""))
        self._watchers: list[Callable[[set[str]], object]] = []
        self._derived: dict[str, Any] = {}
        for name, text in self.static.items():
            _check(name, text, self.release, (places or {}).get(name))
        check_together(self, self.static, places or {})

    def __repr__(self) -> str:
        return f"BrokerConfig(broker_id={self.broker_id}, {len(self.static)} settings given)"

    def text(self, name: str) -> str | None:
        """The value in force as text, with the default; None for no value."""
        for layer in (self.dynamic_broker, self.dynamic_default, self.static):
            if name in layer:
                return layer[name]
        return default_text(name, self.release)

    def value(self, name: str) -> Any:
        """The value in force, typed as Kafka 3.9 types it."""
        text = self.text(name)
        return None if text is None else settings()[name].kind.parse(text.strip())

    def listener_text(self, listener: str, name: str, mechanism: str = "") -> str | None:
        """The value of `name` for one listener (and SASL mechanism), or the broker's own."""
        prefix = f"listener.name.{listener.lower()}."
        names = [prefix + name, name]
        if mechanism:
            names.insert(0, f"{prefix}{mechanism.lower()}.{name}")
        for each in names:
            for layer in (self.dynamic_broker, self.dynamic_default, self.static):
                if each in layer:
                    return layer[each]
        return default_text(name, self.release)

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where to listen."""
        return listeners_of(self)

    @property
    def advertised_endpoints(self) -> list[Endpoint]:
        """Where clients are sent; an empty host or port 0 stands for what was bound."""
        return advertised_of(self)

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener that brokers use among themselves."""
        return inter_broker_listener_of(self)

    @property
    def inter_broker_protocol(self) -> tuple[int, int]:
        """The release whose requests and records brokers use among themselves."""
        major, minor = self.inter_broker_protocol_version.partition("-")[0].split(".")[:2]
        return int(major), int(minor)

    @property
    def data_dirs(self) -> list[str]:
        """The data directories, each named once."""
        return data_dirs_of(self)

    @property
    def connections_per_ip(self) -> dict[str, int]:
        """How many connections single addresses may have, where that is not what others may."""
        return connections_per_ip_of(self)

    @property
    def log_config(self) -> LogConfig:
        """The settings of a topic that overrides none."""
        return self.derived("log config", lambda: log_config_of(self.value))

    def derived(self, key: str, make: Callable[[], T]) -> T:
        """What `make` makes of these settings, kept under `key` until one of them changes."""
        if key not in self._derived:
            self._derived[key] = make()
        kept: T = self._derived[key]
        return kept

    def set_dynamic(
        self,
        default: Mapping[str, str] | None = None,
        broker: Mapping[str, str] | None = None,
    ) -> set[str]:
        """Put dynamic layers in force (None leaves one as it is); the names whose value changed.

        Values that cannot be used are left out, as Kafka does with what it finds stored; use
        `check_dynamic` before storing. Raises ConfigError for values that contradict each other
        or what is static; then nothing has changed.
        """
        before = {name: self.text(name) for name in self._dynamic_names(default, broker)}
        kept = self.dynamic_default, self.dynamic_broker
        if default is not None:
            self.dynamic_default = self._usable(default)
        if broker is not None:
            self.dynamic_broker = self._usable(broker)
        changed = {name for name, text in before.items() if self.text(name) != text}
        self._forget(changed)
        try:
            check_together(self, self.static, {})
        except ConfigError:
            self.dynamic_default, self.dynamic_broker = kept
            self._forget(changed)
            raise
        if changed:
            for watcher in tuple(self._watchers):
                watcher(changed)
        return changed

    def _forget(self, changed: Iterable[str]) -> None:
        """What was read of these settings, and made of them, is read and made anew."""
        self._derived.clear()
        for name in changed:
            self.__dict__.pop(name.replace(".", "_"), None)

    def check_dynamic(
        self,
        default: Mapping[str, str] | None = None,
        broker: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse dynamic layers that `set_dynamic` should not be given; raises ConfigError."""
        if default is not None:
            check_dynamic_layer(default, per_broker=False, release=self.release)
        if broker is not None:
            check_dynamic_layer(broker, per_broker=True, release=self.release)
        candidate = BrokerConfig(self.static)
        candidate.set_dynamic(
            self.dynamic_default if default is None else default,
            self.dynamic_broker if broker is None else broker,
        )

    def on_change(self, watcher: Callable[[set[str]], object]) -> None:
        """Call `watcher(names)` after dynamic settings changed."""
        self._watchers.append(watcher)

    if not TYPE_CHECKING:  # mypy goes by TypedSettings and must not take any name for granted

        def __getattr__(self, attribute: str) -> Any:
            """A typed setting on its first use; afterwards it is an attribute like any other."""
            name = TYPED.get(attribute)
            if name is None:
                raise AttributeError(f"BrokerConfig has no setting {attribute}")
            value = self.__dict__[attribute] = self.value(name)
            return value

    def _usable(self, layer: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, text in layer.items() if _is_usable(name, text, self.release)}

    def _dynamic_names(self, *layers: Mapping[str, str] | None) -> set[str]:
        names = {*self.dynamic_default, *self.dynamic_broker}
        return names.union(*(layer for layer in layers if layer))


def default_text(name: str, release: int) -> str | None:
    """The default in Kafka `release`; where 4.4 demands a value (for KRaft), that of 3.9."""
    setting = settings(release).get(name)
    if setting is None:
        return None
    return settings()[name].default_text if setting.required else setting.default_text


def _check(name: str, text: str, release: int, place: str | None) -> Setting | None:
    """The setting that `name` is; raises ConfigError when it is none or `text` cannot be used."""
    prefix = f"{place}: " if place else ""
    setting = find_setting(name, text, release, prefix)
    if setting is None:
        return None
    if "dynamic-only" in setting.flags:
        raise ConfigError(f"{prefix}{name} can only be set at run time, with kafka-configs")
    try:
        setting.parse(text)
    except InvalidSetting as refusal:
        raise ConfigError(f"{prefix}{name}={refusal.value}: {refusal.reason}") from None
    return setting


def _is_usable(name: str, text: str, release: int) -> bool:
    try:
        setting = find_setting(name, text, release, "")
        if setting is not None:
            setting.parse(text)
    except (ConfigError, InvalidSetting):
        return False
    return True


def _with_synonyms(static: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    """`broker.id` and `node.id` are one setting."""
    merged = dict(static)
    ids = [name for name in ("broker.id", "node.id") if name in merged]
    if len(ids) == 2 and merged["broker.id"].strip() != merged["node.id"].strip():
        place = places.get("node.id") or places.get("broker.id")
        raise ConfigError(
            f"{f'{place}: ' if place else ''}node.id={merged['node.id']} must equal"
            f" broker.id={merged['broker.id']}"
        )
    for name in ids:
        merged["broker.id"] = merged["node.id"] = merged[name]
    return merged


def _release_of(pose_as: str) -> int:
    major = pose_as.strip().split(".")[0]
    return 4 if _FROM_4_ON.fullmatch(major) else 3
