"""DescribeConfigs answers; for topics, those that Kafka 3.9.1 and 4.3.1 gave (golden frames)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.settings.config import BrokerConfig, load_config
from barnabas.server.settings.describe import (
    ConfigEntry,
    ConfigSource,
    broker_synonyms,
    describe_broker,
    describe_cluster_default,
    describe_topic,
)
from barnabas.storage.setting_types import InvalidSetting

WIRE = Path(__file__).parents[4] / "shared" / "golden" / "wire"
STATIC = {"log.retention.ms": "-1", "log.index.size.max.bytes": "65536"}


def _golden(release: str) -> list[dict[str, Any]]:
    if not WIRE.exists():
        pytest.skip("the golden frames are not here (../shared/golden)")
    with (WIRE / "frames.jsonl").open() as lines:
        brokers = [json.loads(line)["broker"] for line in lines]
    with gzip.open(WIRE / "frames-decoded.jsonl.gz", "rt") as lines:
        frames = [json.loads(line) for line in lines]
    return [
        frame["response"]["results"][0]
        for frame in frames
        if frame["api"] == "DescribeConfigs" and release in brokers[frame["line"] - 1]
    ]


def _wire(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "readOnly": entry.read_only,
        "configSource": entry.source,
        "isSensitive": entry.is_sensitive,
        "synonyms": [
            {"name": s.name, "value": s.value, "source": s.source} for s in entry.synonyms
        ],
        "configType": entry.config_type,
    }


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_a_topic_is_described_as_kafka_describes_it(release: str) -> None:
    results = _golden(release)
    assert len(results) == 2
    config = BrokerConfig({**STATIC, "barnabas.pose.as": release})
    if release == "4.3.1":  # the cluster had this one set for all brokers
        config.set_dynamic(default={"min.insync.replicas": "1"})
    for result in results:
        expected = {each["name"]: each for each in result["configs"]}
        overrides = {n: e["value"] for n, e in expected.items() if e["configSource"] == 1}
        entries = {each.name: _wire(each) for each in describe_topic(config, overrides)}
        # 4.4 knows more of them than 4.3.1, whose frames these are
        assert set(expected) <= set(entries)
        assert set(entries) - set(expected) <= NEW_IN_4_4
        for name, answer in expected.items():
            answer.pop("documentation", None)
            ours = entries[name]
            if "configType" not in answer:
                del ours["configType"]
            assert ours == answer


NEW_IN_4_4 = {
    "errors.deadletterqueue.group.enable",
    "max.decompressed.message.bytes",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
}


def test_a_brokers_layers_are_its_synonyms() -> None:
    config = load_config(overrides=["message.max.bytes=100"])
    config.set_dynamic(default={"message.max.bytes": "200"}, broker={"message.max.bytes": "300"})
    [entry] = describe_broker(config, ["message.max.bytes"])
    assert (entry.value, entry.source, entry.read_only) == ("300", 2, False)
    assert [(s.value, int(s.source)) for s in entry.synonyms] == [
        ("300", 2), ("200", 3), ("100", 4), ("1048588", 5),
    ]  # fmt: skip
    [topic] = [e for e in describe_topic(config, {}) if e.name == "max.message.bytes"]
    assert (topic.value, topic.source) == ("300", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert topic.synonyms == entry.synonyms


def test_a_layer_that_another_one_hides_is_still_shown() -> None:
    config = load_config(overrides=["message.max.bytes=100"])
    config.set_dynamic(broker={"message.max.bytes": "300"})
    assert len(describe_broker(config, ["message.max.bytes"])[0].synonyms) == 3
    assert config.set_dynamic(default={"message.max.bytes": "200"}) == set()
    assert len(describe_broker(config, ["message.max.bytes"])[0].synonyms) == 4
    assert len(describe_topic(config, {}, ["max.message.bytes"])[0].synonyms) == 4


def test_an_override_is_parsed_and_checked() -> None:
    [entry] = describe_topic(
        load_config(), {"cleanup.policy": "compact , delete"}, ["cleanup.policy"]
    )
    assert (entry.value, entry.source) == ("compact,delete", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    with pytest.raises(InvalidSetting):
        describe_topic(load_config(), {"retention.ms": "soon"})


def test_the_cluster_default_shows_only_itself() -> None:
    config = load_config(overrides=["message.max.bytes=100"])
    config.set_dynamic(default={"message.max.bytes": "200"}, broker={"num.io.threads": "3"})
    [entry] = describe_cluster_default(config)
    assert (entry.name, entry.value, entry.source) == ("message.max.bytes", "200", 3)
    assert [int(s.source) for s in entry.synonyms] == [3]
    assert describe_cluster_default(config, ["num.io.threads"]) == []


def test_passwords_and_unknown_names_are_sensitive() -> None:
    config = load_config(
        overrides=["ssl.key.password=hunter2", "super.users=User:admin", "rsm.config.key=x"]
    )
    entries = {entry.name: entry for entry in describe_broker(config)}
    for name in ("ssl.key.password", "super.users", "rsm.config.key"):
        assert entries[name].is_sensitive
        assert entries[name].value is None
        assert [s.value for s in entries[name].synonyms] == [None]
    assert "hunter2" not in repr(entries)
    assert entries["super.users"].config_type == 0
    assert entries["ssl.key.password"].config_type == 9


def test_a_setting_for_one_listener_names_its_base() -> None:
    name = "listener.name.internal.ssl.client.auth"
    config = load_config(overrides=[f"{name}=required"])
    [entry] = describe_broker(config, [name])
    assert (entry.value, entry.config_type) == ("required", 2)
    assert [(s.name, s.value, int(s.source)) for s in entry.synonyms] == [
        (name, "required", 4),
        ("ssl.client.auth", "none", 5),
    ]
    assert broker_synonyms("listener.name.a.plain.sasl.jaas.config")[1] == "sasl.jaas.config"


def test_internal_settings_are_hidden_and_our_own_are_shown_unless_posing() -> None:
    names = {entry.name for entry in describe_broker(load_config())}
    assert {"zookeeper.connect", "barnabas.http.port", "group.streams.max.size"} <= names
    assert not {"group.share.enable", "super.users", "leader.replication.throttled.rate"} & names
    posing = {e.name for e in describe_broker(load_config(overrides=["barnabas.pose.as=3.9"]))}
    assert "zookeeper.connect" in posing
    assert not {"barnabas.http.port", "group.streams.max.size"} & posing
