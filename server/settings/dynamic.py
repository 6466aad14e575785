"""Whether settings may be changed at run time: by name, by level, by value.

Source: kafka.server.DynamicBrokerConfig. Names that no table knows are let through, as Kafka
does for plugins' settings.
"""

from collections.abc import Mapping

from barnabas.server.settings.names import ConfigError, base_name
from barnabas.server.settings.table import PER_BROKER, READ_ONLY, settings
from barnabas.storage.setting_types import InvalidSetting

# Keys and certificates change for one listener at a time, never for all of them at once.
ONLY_BY_LISTENER = frozenset(
    f"ssl.{each}"
    for each in (
        "key.password",
        "keystore.certificate.chain",
        "keystore.key",
        "keystore.location",
        "keystore.password",
        "keystore.type",
        "truststore.certificates",
        "truststore.location",
        "truststore.password",
        "truststore.type",
    )
)
# Settings of a listener that may still hold for all brokers.
LISTENER_BY_CLUSTER = frozenset(
    ("max.connections", "max.connection.creation.rate", "num.network.threads")
)


def check_dynamic_layer(layer: Mapping[str, str], per_broker: bool, release: int = 3) -> None:
    """Refuse a dynamic layer for one broker or (`per_broker` false) all; raises ConfigError."""
    if fixed := [name for name in layer if _is_fixed(name, release)]:
        raise ConfigError(f"Cannot update these configs dynamically: {_list(fixed)}")
    if bare := [name for name in layer if name in ONLY_BY_LISTENER]:
        raise ConfigError(
            "These security configs can be dynamically updated only per-listener using the"
            f" listener prefix: {_list(bare)}"
        )
    for name, text in layer.items():
        _check_value(name, text, release)
    if not per_broker and (local := [name for name in layer if _is_local(name, release)]):
        raise ConfigError(
            "Cannot update these configs at default cluster level, broker id must be specified:"
            f" {_list(local)}"
        )


def _is_fixed(name: str, release: int) -> bool:
    setting = settings(release).get(name)
    return setting is not None and setting.mode == READ_ONLY and "plugin" not in setting.flags


def _is_local(name: str, release: int) -> bool:
    base = base_name(name)
    if base != name:
        return base not in LISTENER_BY_CLUSTER
    setting = settings(release).get(name)
    return setting is not None and setting.mode == PER_BROKER


def _check_value(name: str, text: str, release: int) -> None:
    setting = settings(release).get(base_name(name))
    try:
        if setting is not None:
            setting.parse(text)
    except InvalidSetting as refusal:
        raise ConfigError(str(refusal)) from None


def _list(names: list[str]) -> str:
    return ", ".join(sorted(names))
