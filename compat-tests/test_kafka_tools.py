"""Apache Kafka's own command line tools, of 4.4.0 and 3.9.1, work unchanged.

Issue 5, item 1. `test_kafka_consumer_groups.py` has the tool for groups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin, unique_name
from kafka_tools import RELEASES, KafkaTools


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest, broker_address: str) -> Iterator[KafkaTools]:
    """The tools of one release."""
    tools = KafkaTools(request.param, broker_address)
    yield tools
    tools.close()


def property_option(tools: KafkaTools, kind: str) -> str:
    """4.x calls the console programs' --property by two names; the old one is deprecated."""
    return f"--{kind}-property" if tools.release.startswith("4") else "--property"


def create(tools: KafkaTools, base: str, *options: str) -> str:
    topic = unique_name(base)
    assert (
        f"Created topic {topic}."
        in tools.ok("kafka-topics", "--create", "--topic", topic, *options).out
    )
    return topic


def describe(tools: KafkaTools, topic: str) -> list[dict[str, str]]:
    """The topic's line, then its partitions' lines, by the names before the colons."""
    lines = tools.ok("kafka-topics", "--describe", "--topic", topic).out.strip().splitlines()
    fields = [[field.partition(":") for field in line.split("\t") if field] for line in lines]
    return [{name.strip(): value.strip() for name, _, value in line} for line in fields]


def test_topics_are_created_described_listed_and_deleted(tools: KafkaTools) -> None:
    topic = create(tools, "life", "--partitions", "3", "--config", "retention.ms=3600000")
    heading, *partitions = describe(tools, topic)
    assert (heading["PartitionCount"], heading["ReplicationFactor"]) == ("3", "1")
    assert "retention.ms=3600000" in heading["Configs"].split(",")
    assert [line["Partition"] for line in partitions] == ["0", "1", "2"]
    assert all(line["Leader"] == line["Replicas"] == line["Isr"] for line in partitions)
    assert topic in tools.ok("kafka-topics", "--list").lines
    tools.ok("kafka-topics", "--delete", "--topic", topic)
    assert topic not in tools.ok("kafka-topics", "--list").lines


def test_a_topic_grows_and_does_not_shrink(tools: KafkaTools) -> None:
    topic = create(tools, "grow", "--partitions", "1")
    tools.ok("kafka-topics", "--alter", "--topic", topic, "--partitions", "4")
    assert describe(tools, topic)[0]["PartitionCount"] == "4"
    refused = tools.run("kafka-topics", "--alter", "--topic", topic, "--partitions", "2")
    assert (refused.exit_code, describe(tools, topic)[0]["PartitionCount"]) == (1, "4")


def test_topics_that_exist_or_do_not_are_told_apart(tools: KafkaTools) -> None:
    topic = create(tools, "twice")
    again = tools.run("kafka-topics", "--create", "--topic", topic)
    assert (again.exit_code, f"Topic '{topic}' already exists." in again.out) == (1, True)
    tools.ok("kafka-topics", "--create", "--if-not-exists", "--topic", topic)
    missing = tools.run("kafka-topics", "--describe", "--topic", unique_name("missing"))
    assert (missing.exit_code, "does not exist as expected" in missing.out) == (1, True)


@pytest.mark.parametrize(
    "options",
    [["--replication-factor", "99"], ["--partitions", "0"], ["--config", "retention.ms=soon"]],
    ids=["replication factor", "no partitions", "bad config"],
)
def test_impossible_topics_are_refused_with_a_reason(tools: KafkaTools, options: list[str]) -> None:
    topic = unique_name("impossible")
    refused = tools.run("kafka-topics", "--create", "--topic", topic, *options)
    assert refused.exit_code == 1
    assert re.search(r"Error while executing topic command : \w+ \w+", refused.out)
    assert topic not in tools.ok("kafka-topics", "--list").lines


def configs(tools: KafkaTools, *entity: str) -> dict[str, str]:
    """The dynamic configs of an entity; the value is the line's rest."""
    lines = tools.ok("kafka-configs", "--describe", *entity).lines
    pairs = [line.partition("=") for line in lines if " sensitive=" in line]
    return {name: rest for name, _, rest in pairs}


def test_topic_configs_are_set_read_and_removed(tools: KafkaTools) -> None:
    topic = create(tools, "configs")
    entity = ("--entity-type", "topics", "--entity-name", topic)
    added = "max.message.bytes=2000000,cleanup.policy=[compact,delete]"
    tools.ok("kafka-configs", "--alter", *entity, "--add-config", added)
    found = configs(tools, *entity)
    assert set(found) == {"max.message.bytes", "cleanup.policy"}
    assert found["cleanup.policy"].startswith("compact,delete sensitive=false")
    assert "DEFAULT_CONFIG:message.max.bytes=1048588" in found["max.message.bytes"]
    removed = "max.message.bytes,cleanup.policy"
    tools.ok("kafka-configs", "--alter", *entity, "--delete-config", removed)
    assert configs(tools, *entity) == {}


def test_an_unknown_topic_config_is_refused(tools: KafkaTools) -> None:
    entity = ("--entity-type", "topics", "--entity-name", create(tools, "unknown"))
    refused = tools.run("kafka-configs", "--alter", *entity, "--add-config", "no.such=1")
    assert refused.exit_code == 1
    assert "InvalidConfigurationException: Unknown topic config name: no.such" in refused.err


def test_broker_configs_are_read_and_the_default_is_changed(tools: KafkaTools) -> None:
    found = configs(tools, "--entity-type", "brokers", "--entity-name", broker_id(tools), "--all")
    assert found["log.segment.bytes"].startswith("1073741824 sensitive=false")
    assert "DEFAULT_CONFIG:num.io.threads=8" in found["num.io.threads"]
    default = ("--entity-type", "brokers", "--entity-default")
    tools.ok("kafka-configs", "--alter", *default, "--add-config", "log.cleaner.threads=2")
    wanted = "DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.threads=2"
    assert wanted in configs(tools, *default)["log.cleaner.threads"]
    tools.ok("kafka-configs", "--alter", *default, "--delete-config", "log.cleaner.threads")
    assert "log.cleaner.threads" not in configs(tools, *default)


def broker_id(tools: KafkaTools) -> str:
    topic = create(tools, "leader")
    return describe(tools, topic)[1]["Leader"]


def test_the_console_programs_carry_keys_headers_and_values(tools: KafkaTools) -> None:
    topic = create(tools, "console", "--partitions", "1")
    reader, formatter = property_option(tools, "reader"), property_option(tools, "formatter")
    tools.ok(
        "kafka-console-producer", "--topic", topic, "--compression-codec", "lz4",
        reader, "parse.key=true", reader, "key.separator=:", reader, "parse.headers=true",
        stdin="h1:v1,h2:v2\tk1:one\nh1:x\tk2:two\n",
    )  # fmt: skip
    printed = [
        word
        for name in ("key", "headers", "partition", "offset")
        for word in (formatter, f"print.{name}=true")
    ]
    read = tools.ok(
        "kafka-console-consumer", "--topic", topic, "--partition", "0", "--offset", "earliest",
        "--max-messages", "2", "--timeout-ms", "10000", *printed,
    )  # fmt: skip
    assert [line for line in read.lines if line.startswith("Partition:")] == [
        "Partition:0\tOffset:0\th1:v1,h2:v2\tk1\tone",
        "Partition:0\tOffset:1\th1:x\tk2\ttwo",
    ]
    assert "Processed a total of 2 messages" in read.err


def test_the_console_consumer_begins_at_an_offset_or_in_a_group(tools: KafkaTools) -> None:
    topic = create(tools, "begin", "--partitions", "1")
    tools.ok("kafka-console-producer", "--topic", topic, stdin="".join(f"m{i}\n" for i in range(5)))
    consumer = ("kafka-console-consumer", "--topic", topic, "--timeout-ms", "10000")
    by_offset = ("--partition", "0", "--offset", "3", "--max-messages", "2")
    assert tools.ok(*consumer, *by_offset).lines == ["m3", "m4"]
    in_group = ("--group", unique_name("console"), "--from-beginning", "--max-messages", "5")
    assert tools.ok(*consumer, *in_group).lines == [f"m{i}" for i in range(5)]


def get_offsets(tools: KafkaTools, topic: str, *options: str) -> dict[int, int]:
    lines = tools.ok("kafka-get-offsets", "--topic", topic, *options).lines
    fields = [line.rsplit(":", 2) for line in lines]
    return {int(partition): int(offset) for _, partition, offset in fields}


def test_offsets_are_told_for_every_special_time(tools: KafkaTools) -> None:
    topic = create(tools, "offsets", "--partitions", "2")
    for number in range(3):
        tools.ok("kafka-console-producer", "--topic", topic, stdin=f"{number}\n")
    ends = get_offsets(tools, topic)
    assert sum(ends.values()) == 3
    assert get_offsets(tools, topic, "--time", "latest") == ends
    assert get_offsets(tools, topic, "--time", "earliest") == {0: 0, 1: 0}
    written = {partition: end for partition, end in ends.items() if end}
    assert get_offsets(tools, topic, "--time", "1") == dict.fromkeys(written, 0)
    newest = {partition: end - 1 for partition, end in written.items()}
    assert get_offsets(tools, topic, "--time", "max-timestamp") == newest


def test_records_are_deleted_up_to_an_offset(tools: KafkaTools, tmp_path: Path) -> None:
    topic = create(tools, "delete", "--partitions", "1")
    tools.ok("kafka-console-producer", "--topic", topic, stdin="a\nb\nc\nd\n")
    plan = {"partitions": [{"topic": topic, "partition": 0, "offset": 3}], "version": 1}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    done = tools.ok("kafka-delete-records", "--offset-json-file", str(tmp_path / "plan.json"))
    assert f"partition: {topic}-0\tlow_watermark: 3" in done.lines
    assert get_offsets(tools, topic, "--time", "earliest") == {0: 3}
    plan["partitions"] = [{"topic": topic, "partition": 0, "offset": 99}]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    refused = tools.run("kafka-delete-records", "--offset-json-file", str(tmp_path / "plan.json"))
    assert "OffsetOutOfRangeException" in refused.out + refused.err


def test_log_dirs_tell_sizes(tools: KafkaTools) -> None:
    topic = create(tools, "dirs", "--partitions", "2")
    tools.ok("kafka-console-producer", "--topic", topic, stdin="a\nb\nc\n")
    told = tools.ok("kafka-log-dirs", "--describe", "--topic-list", topic).lines[-1]
    (broker,) = json.loads(told)["brokers"]
    sizes = {
        partition["partition"]: partition["size"]
        for log_dir in broker["logDirs"]
        for partition in log_dir["partitions"]
    }
    assert set(sizes) == {f"{topic}-0", f"{topic}-1"}
    assert sum(sizes.values()) > 60
    assert all(log_dir["error"] is None for log_dir in broker["logDirs"])


@pytest.mark.parametrize("idempotent", ["true", "false"])
def test_the_performance_test_writes_all_its_records(
    tools: KafkaTools, broker_admin: BrokerAdmin, idempotent: str
) -> None:
    topic = create(tools, "perf", "--partitions", "1")
    done = tools.run_bare(
        "kafka-producer-perf-test", "--topic", topic, "--num-records", "5000",
        "--record-size", "200", "--throughput", "-1", "--producer-props",
        f"bootstrap.servers={tools.bootstrap}", "acks=all", f"enable.idempotence={idempotent}",
    )  # fmt: skip
    assert done.exit_code == 0, done
    assert done.lines[-1].startswith("5000 records sent")
    assert broker_admin.end_offset(topic) == 5000
