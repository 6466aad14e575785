"""Files that were written for Kafka: what does not apply is said, what is mistyped is refused."""

from pathlib import Path

import pytest

from barnabas.server.settings.config import BrokerConfig, ConfigError, load_config
from barnabas.server.settings.foreign import (
    KRAFT,
    KRAFT_WITH_ZOOKEEPER,
    UNKNOWN,
    WITHOUT_EFFECT,
)
from tests.server.settings import stock_files


def load(folder: Path, pairs: str, *overrides: str) -> BrokerConfig:
    file = folder / "server.properties"
    file.write_text(stock_files.as_file(pairs))
    return load_config([file], overrides)


def notes_of(config: BrokerConfig) -> dict[str, set[str]]:
    return {text: set(names) for text, names in config.notes}


def test_the_file_for_zookeeper_applies_whole(tmp_path: Path) -> None:
    config = load(tmp_path, stock_files.ZOOKEEPER)
    assert config.notes == []
    assert config.zookeeper_connect == "localhost:2181"
    assert config.data_dirs == ["/tmp/kafka-logs"]


@pytest.mark.parametrize("name", stock_files.KRAFT)
def test_files_for_kraft_make_a_broker_with_its_own_registry(tmp_path: Path, name: str) -> None:
    config = load(tmp_path, stock_files.KRAFT[name])
    notes = notes_of(config)
    assert {"process.roles", "controller.listener.names"} < notes.pop(KRAFT)
    share = {f"share.coordinator.state.topic.{each}" for each in ("min.isr", "replication.factor")}
    assert notes == ({WITHOUT_EFFECT: share} if name.startswith("4") else {})
    assert [each.listener for each in config.endpoints] == ["PLAINTEXT"]
    assert [str(each) for each in config.advertised_endpoints] == ["PLAINTEXT://localhost:9092"]
    assert config.zookeeper_connect is None
    assert config.process_roles == ()


def test_a_node_that_is_no_broker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"properties:2: process\.roles=controller: a node that"):
        load(tmp_path, stock_files.CONTROLLER)


def test_a_node_without_a_listener_of_its_own_has_kafkas_default(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "process.roles=broker,controller node.id=1 controller.listener.names=A,controller"
        " listeners=CONTROLLER://:9093,a://:9094",
    )
    assert [str(each) for each in config.endpoints] == ["PLAINTEXT://:9092"]


def test_with_zookeeper_the_cluster_is_said_to_be_zookeepers(tmp_path: Path) -> None:
    config = load(tmp_path, "process.roles=broker zookeeper.connect=zk:2181")
    assert notes_of(config) == {KRAFT_WITH_ZOOKEEPER: {"process.roles"}}


def test_without_a_role_zookeeper_is_meant(tmp_path: Path) -> None:
    config = load(tmp_path, "process.roles= broker.id=1 listeners=PLAINTEXT://:9094")
    assert [str(each) for each in config.endpoints] == ["PLAINTEXT://:9094"]


def test_names_of_other_vendors_are_left_out_and_said(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "confluent.license.topic.replication.factor=1 port=9092 ranger.service.password=hunter2"
        " remote.log.storage.system.enable=true num.io.threads=16 num.network.threads=3"
        " listener.name.plaintext.ssl.client.auth=required rsm.config.chunk.size=5",
    )
    assert notes_of(config) == {
        UNKNOWN: {
            "confluent.license.topic.replication.factor", "port", "ranger.service.password"
        },
        WITHOUT_EFFECT: {
            "num.io.threads",
            "remote.log.storage.system.enable",
            "listener.name.plaintext.ssl.client.auth",
        },
    }  # fmt: skip
    assert config.static == {
        "num.io.threads": "16",
        "num.network.threads": "3",
        "listener.name.plaintext.ssl.client.auth": "required",
        "rsm.config.chunk.size": "5",
    }


@pytest.mark.parametrize(
    "typed",
    [
        "zookeper.connect=zk:2181", "listners=PLAINTEXT://:1", "proces.roles=broker",
        "listener.name.in.ssl.keystor.location=x", "log.retention.hour=1",
        "controler.quorum.voters=1@a:1",
    ],
)  # fmt: skip
def test_a_typing_error_is_refused_with_the_nearest_name(tmp_path: Path, typed: str) -> None:
    with pytest.raises(ConfigError, match=rf":2: {typed.partition('=')[0]}=.*; did you mean "):
        load(tmp_path, typed)


@pytest.mark.parametrize(
    "typed",
    ["process.roles=broker", "remote.log.storage.system.enable=true", "confluent.anything=1"],
)
def test_after_set_all_is_refused_that_does_not_apply(tmp_path: Path, typed: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set: "):
        load(tmp_path, "", typed)
    with pytest.raises(ConfigError, match=r"^settings: "):
        load_config((), dict([typed.split("=")]))
