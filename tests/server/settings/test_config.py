"""Settings from files and --set: layers, types, refusals, live changes."""

import subprocess
import sys
import typing
from pathlib import Path

import pytest

from barnabas.server.network.listening import limits_of
from barnabas.server.settings.config import TYPED, BrokerConfig, ConfigError, load_config
from barnabas.server.settings.table import settings
from barnabas.server.settings.typed import TypedSettings

TYPES: dict[str, type] = {
    "BOOLEAN": bool, "INT": int, "SHORT": int, "LONG": int, "DOUBLE": float, "STRING": str,
    "CLASS": str, "PASSWORD": str, "LIST": tuple[str, ...],
}  # fmt: skip


def test_defaults_are_typed() -> None:
    config = load_config()
    assert config.num_partitions == 1
    assert config.auto_create_topics_enable is True
    assert config.advertised_listeners is None
    assert config.sasl_enabled_mechanisms == ("GSSAPI",)
    assert config.log_cleaner_io_buffer_load_factor == 0.9
    assert config.zookeeper_connect is None


def test_a_name_that_is_no_setting_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no setting num_partitons"):
        getattr(load_config(), "num_partitons")  # noqa: B009  (mypy would refuse it outright)


def test_every_typed_setting_is_in_the_table_with_that_type() -> None:
    hints = typing.get_type_hints(TypedSettings)
    for attribute, name in TYPED.items():
        setting = settings()[name]
        expected = TYPES[setting.kind.name]
        nullable = setting.default_text is None
        assert hints[attribute] == (expected | None if nullable else expected), name


def test_later_files_and_then_overrides_win(tmp_path: Path) -> None:
    first, second = tmp_path / "server.properties", tmp_path / "more.properties"
    first.write_text("num.partitions=2\nbroker.id=1\nlog.dirs=/a, /b,/a\n")
    second.write_text("num.partitions : 3\nnum.partitions : 4\n")
    config = load_config([first, second], ["broker.rack=r1"])
    assert (config.num_partitions, config.broker_id, config.broker_rack) == (4, 1, "r1")
    assert config.node_id == 1
    assert config.data_dirs == ["/a", "/b"]
    assert load_config([first], {"num.partitions": 5}).num_partitions == 5


def test_values_of_python_types_are_written_as_kafka_reads_them() -> None:
    config = load_config(
        overrides={"log.cleaner.enable": False, "sasl.enabled.mechanisms": ["PLAIN", "GSSAPI"]}
    )
    assert config.log_cleaner_enable is False
    assert config.sasl_enabled_mechanisms == ("PLAIN", "GSSAPI")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("num.partitons=3", "num.partitons=3: there is no setting num.partitons;"
         " did you mean num.partitions?"),
        ("num.partitions=many", "num.partitions=many: Not a number of type INT"),
        ("num.partitions=0", "num.partitions=0: Value must be at least 1"),
        ("compression.type=lzma", "compression.type=lzma: String must be one of: uncompressed,"
         " zstd, lz4, snappy, gzip, producer"),
        ("listener.name.in.ssl.keystor.location=x",
         "listener.name.in.ssl.keystor.location=[hidden]: there is no setting"
         " listener.name.in.ssl.keystor.location; did you mean"
         " listener.name.in.ssl.keystore.location?"),
        ("ssl.keystore.pasword=hunter2", "ssl.keystore.pasword=[hidden]: there is no setting"
         " ssl.keystore.pasword; did you mean ssl.keystore.password?"),
        ("leader.replication.throttled.rate=1", "leader.replication.throttled.rate can only be set"
         " at run time, with kafka-configs"),
        ("broker.id=1001", "broker.id=1001: must not exceed reserved.broker.max.id (1000) while"
         " broker.id.generation.enable is true"),
        ("listeners=A://:1", "listeners=A://:1: A has no protocol in"
         " listener.security.protocol.map"),
        ("advertised.listeners=SSL://a:1", "advertised.listeners=SSL://a:1: SSL is advertised but"
         " not among listeners"),
        ("security.inter.broker.protocol=SSL", "listeners=PLAINTEXT://:9092: SSL, the listener"
         " between brokers, is not among them"),
        ("inter.broker.listener.name=X", "inter.broker.listener.name=X: has no protocol in"
         " listener.security.protocol.map (SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT)"),
        ("log.retention.ms=0", "log.retention.ms=0: must not be 0; -1 keeps everything"),
        ("log.dirs=,", "log.dirs=,: must name at least one directory"),
        ("queued.max.request.bytes=5", "queued.max.request.bytes=5: must be at least"
         " socket.request.max.bytes (104857600), or -1 for no limit"),
        ("max.connections.per.ip=0", "max.connections.per.ip=0: 0 needs"
         " max.connections.per.ip.overrides beside it"),
        ("max.connections.per.ip.overrides=a", "max.connections.per.ip.overrides=a: a is not"
         " host:count"),
        (r"max.connections.per.ip.overrides=a:1,b:\u00b2", "max.connections.per.ip.overrides="
         "a:1,b:\u00b2: b:\u00b2 is not host:count"),
        (r"barnabas.pose.as=\u00b2", "barnabas.pose.as=\u00b2: must be a version of Kafka, as"
         " 3.9, or empty"),
        ("replica.fetch.wait.max.ms=40000", "replica.fetch.wait.max.ms=40000: must not exceed"
         " replica.socket.timeout.ms (30000)"),
        ("group.consumer.session.timeout.ms=1", "group.consumer.session.timeout.ms=1: must lie"
         " between group.consumer.min.session.timeout.ms (45000) and"
         " group.consumer.max.session.timeout.ms (60000)"),
        ("barnabas.log.level=loud", "barnabas.log.level=loud: must be a level (error, warn, info,"
         " debug, trace), with room=level after it if wanted"),
        (r"a=\u12", r"\u12 is not \u and four hexadecimal digits"),
    ],
)  # fmt: skip
def test_a_refusal_is_one_sentence_with_its_place(tmp_path: Path, line: str, sentence: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"# first line\n{line}\n")
    with pytest.raises(ConfigError) as refusal:
        load_config([file])
    place = f"{file}:2: " if not sentence.startswith("listeners=PLAINTEXT") else ""
    assert str(refusal.value) == place + sentence


def test_the_command_line_and_the_file_are_named_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--set num\.partitions: write it as name=value$"):
        load_config(overrides=["num.partitions"])
    with pytest.raises(ConfigError, match=r"^--set: num\.partitions=x: Not a number of type INT$"):
        load_config(overrides=["num.partitions=x"])
    with pytest.raises(ConfigError, match=r"^--set: q=1: there is no setting q; docs/settings"):
        load_config(overrides=["q=1"])
    with pytest.raises(ConfigError, match=r"gone\.properties cannot be read: No such file"):
        load_config([tmp_path / "gone.properties"])


def test_single_addresses_have_limits_of_their_own() -> None:
    config = load_config(overrides=["max.connections.per.ip.overrides=a:1, 127.0.0.9:20, ,"])
    assert config.connections_per_ip == {"a": 1, "127.0.0.9": 20}
    assert limits_of(config).per_ip_overrides == config.connections_per_ip


def test_broker_id_and_node_id_are_one_setting() -> None:
    assert load_config(overrides=["node.id=7"]).broker_id == 7
    with pytest.raises(ConfigError, match=r"^--set: node\.id=2 must equal broker\.id=1$"):
        load_config(overrides=["broker.id=1", "node.id=2"])


def test_settings_for_one_listener() -> None:
    config = load_config(
        overrides=[
            "listener.name.internal.ssl.client.auth=required",
            "listener.name.internal.plain.sasl.jaas.config=one",
            "sasl.jaas.config=two",
            "rsm.config.anything=goes",
        ]
    )
    assert config.ssl_client_auth == "none"
    assert config.listener_text("INTERNAL", "ssl.client.auth") == "required"
    assert config.listener_text("EXTERNAL", "ssl.client.auth") == "none"
    assert config.listener_text("INTERNAL", "sasl.jaas.config", "PLAIN") == "one"
    assert config.listener_text("INTERNAL", "sasl.jaas.config", "GSSAPI") == "two"
    with pytest.raises(ConfigError, match="String must be one of"):
        load_config(overrides=["listener.name.internal.ssl.client.auth=perhaps"])


def test_a_secret_is_never_shown() -> None:
    config = load_config(overrides=["ssl.keystore.password=hunter2", "zookeeper.connect=zk:2181"])
    assert "hunter2" not in repr(config)
    assert config.ssl_keystore_password == "hunter2"


def test_listeners_are_parsed() -> None:
    config = load_config(
        overrides=[
            "listeners=IN://:9093,OUT://:9092",
            "advertised.listeners=IN://b1:9093,OUT://example.org:19092",
            "listener.security.protocol.map=IN:PLAINTEXT,OUT:SSL",
            "inter.broker.listener.name=in",
        ]
    )
    assert [str(e) for e in config.endpoints] == ["IN://:9093", "OUT://:9092"]
    assert [e.port for e in config.advertised_endpoints] == [9093, 19092]
    assert config.inter_broker_listener == "IN"
    assert [str(e) for e in load_config().advertised_endpoints] == ["PLAINTEXT://:9092"]


def test_topics_inherit_in_their_own_units() -> None:
    config = load_config(
        overrides=[
            "log.retention.minutes=5",
            "log.roll.hours=2",
            "log.flush.scheduler.interval.ms=9",
        ]
    ).log_config
    assert config.retention_ms == 300_000
    assert config.segment_ms == 7_200_000
    assert config.flush_ms == 9
    assert load_config(overrides=["log.retention.hours=-1"]).log_config.retention_ms == -1
    both = load_config(overrides=["log.retention.ms=7", "log.retention.hours=1"])
    assert both.log_config.retention_ms == 7


def test_an_old_message_format_needs_an_old_inter_broker_protocol() -> None:
    old = ["log.message.format.version=0.10.0", "inter.broker.protocol.version=2.8"]
    assert load_config(overrides=old).log_config.message_format_version == "0.10.0"
    assert load_config(overrides=old[:1]).log_config.message_format_version == "3.0-IV1"


def test_the_old_timestamp_limit_stands_in_for_the_two_new_ones() -> None:
    config = load_config(
        overrides=[
            "log.message.timestamp.difference.max.ms=5",
            "log.message.timestamp.after.max.ms=7",
        ]
    ).log_config
    assert config.message_timestamp_before_max_ms == 5
    assert config.message_timestamp_after_max_ms == 7


def test_posing_as_another_kafka_takes_its_defaults_and_limits() -> None:
    config = load_config(overrides=["barnabas.pose.as=4.4"])
    assert config.log_config.message_timestamp_after_max_ms == 3_600_000
    assert config.node_id == -1
    assert load_config(overrides=["log.segment.bytes=14"]).log_config.segment_bytes == 14
    with pytest.raises(ConfigError, match="Value must be at least 1048576"):
        load_config(overrides=["barnabas.pose.as=4.4", "log.segment.bytes=14"])


def test_dynamic_layers_change_attributes_in_place_and_tell_watchers() -> None:
    config = load_config(overrides=["message.max.bytes=100", "num.partitions=2"])
    changes: list[set[str]] = []
    config.on_change(changes.append)
    assert config.set_dynamic(default={"message.max.bytes": "200"}) == {"message.max.bytes"}
    assert config.message_max_bytes == 200
    assert config.log_config.max_message_bytes == 200
    config.set_dynamic(broker={"message.max.bytes": "300"})
    assert config.message_max_bytes == 300
    assert config.set_dynamic(default={"message.max.bytes": "250"}) == set()
    config.set_dynamic(broker={})
    assert config.message_max_bytes == 250
    config.set_dynamic(default={})
    assert config.message_max_bytes == 100
    assert changes == [{"message.max.bytes"}] * 4


def test_stored_dynamic_values_that_cannot_be_used_are_left_out() -> None:
    config = load_config()
    config.set_dynamic(default={"message.max.bytes": "-1", "colour": "red", "num.io.threads": "3"})
    assert config.message_max_bytes == 1048588
    assert config.dynamic_default == {"num.io.threads": "3"}


def test_loading_imports_nothing_dear() -> None:
    script = "import sys; from barnabas.server.settings.config import load_config; load_config()\n"
    modules = subprocess.run(
        [sys.executable, "-c", script + "print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert "barnabas.server.settings.config" in modules
    dear = {"asyncio", "click", "construct", "difflib", "json", "prometheus_client"}
    assert dear.isdisjoint(modules)


def test_a_config_of_nothing_is_the_defaults() -> None:
    assert BrokerConfig().num_partitions == load_config().num_partitions
