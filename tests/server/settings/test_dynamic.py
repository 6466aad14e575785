"""What may be changed at run time, and by what level."""

import pytest

from barnabas.server.settings.config import ConfigError, load_config
from barnabas.server.settings.dynamic import check_dynamic_layer


@pytest.mark.parametrize(
    ("layer", "per_broker"),
    [
        ({"message.max.bytes": "5"}, False),
        ({"message.max.bytes": "5"}, True),
        ({"listener.name.in.ssl.keystore.location": "/x"}, True),
        ({"listener.name.in.max.connections": "5"}, False),
        ({"leader.replication.throttled.rate": "5"}, False),
        ({"someones.own.setting": "x"}, False),
        ({"barnabas.log.level": "debug"}, False),
        ({}, False),
    ],
)
def test_what_may_change(layer: dict[str, str], per_broker: bool) -> None:
    check_dynamic_layer(layer, per_broker)


@pytest.mark.parametrize(
    ("layer", "per_broker", "message"),
    [
        (
            {"num.partitions": "5", "broker.id": "5"},
            True,
            "Cannot update these configs dynamically: broker.id, num.partitions",
        ),
        (
            {"ssl.keystore.location": "/x"},
            True,
            "These security configs can be dynamically updated only per-listener using the"
            " listener prefix: ssl.keystore.location",
        ),
        (
            {"listener.name.in.ssl.keystore.location": "/x", "listeners": "PLAINTEXT://:1"},
            False,
            "Cannot update these configs at default cluster level, broker id must be specified:"
            " listener.name.in.ssl.keystore.location, listeners",
        ),
        (
            {"message.max.bytes": "-1"},
            True,
            "Invalid value -1 for configuration message.max.bytes: Value must be at least 0",
        ),
        (
            {"listener.name.in.max.connections": "x"},
            True,
            "Invalid value x for configuration max.connections: Not a number of type INT",
        ),
    ],
)
def test_what_may_not(layer: dict[str, str], per_broker: bool, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        check_dynamic_layer(layer, per_broker)
    assert str(refusal.value) == message


def test_the_whole_must_still_hold() -> None:
    config = load_config(overrides=["log.cleaner.max.compaction.lag.ms=100"])
    config.check_dynamic(default={"log.cleaner.min.compaction.lag.ms": "100"})
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms=101: must not exceed"):
        config.check_dynamic(default={"log.cleaner.min.compaction.lag.ms": "101"})
    with pytest.raises(ConfigError, match=r"SSL://:1 and PLAINTEXT://:1 share port 1"):
        config.check_dynamic(broker={"listeners": "SSL://:1,PLAINTEXT://:1"})
    assert config.dynamic_default == {}


def test_posing_as_4_4_listeners_may_only_change_with_a_broker_named() -> None:
    config = load_config(overrides=["barnabas.pose.as=4.4"])
    with pytest.raises(ConfigError, match=r"dynamically: advertised\.listeners"):
        config.check_dynamic(broker={"advertised.listeners": "PLAINTEXT://a:1"})
