"""What rpk and kcat do, by `barnabas` against Apache Kafka of both generations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import cli_commands
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka_server import ApacheKafka, running_kafka

PATIENCE_SECONDS = 90
PARTITIONS = 3
barnabas = partial(cli_commands.barnabas, patience_s=PATIENCE_SECONDS)
rows = partial(cli_commands.rows, patience_s=PATIENCE_SECONDS)


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheKafka]:
    with running_kafka(request.param, tmp_path_factory.mktemp("kafka")) as server:
        yield server


def test_topics_in_depth(kafka: ApacheKafka) -> None:
    for name in ("deep-1", "deep-2"):
        rows(kafka, "topics", "create", name, "-p", "2", "-c", "retention.ms=5000000")
        barnabas(kafka, "produce", name, "-p", "1", stdin="1\n2\n3\n")
    described = rows(kafka, "topics", "describe", "deep-?")
    assert [(row["records"], row["bytes"] > 0) for row in described] == [
        (0, False), (3, True), (0, False), (3, True),
    ]  # fmt: skip
    settings = rows(kafka, "topics", "describe", "deep-1", "--settings")
    assert ("retention.ms", "5000000", "topic") in [
        (row["name"], row["value"], row["source"]) for row in settings
    ]
    assert [row["done"] for row in rows(kafka, "topics", "trim", "deep-1", "--to", "-1")] == [
        False, False,
    ]  # fmt: skip
    rows(kafka, "topics", "trim", "deep-1", "--to", "-1", "--yes")
    assert barnabas(kafka, "consume", "deep-1").stdout == "3\n"
    assert len(rows(kafka, "topics", "delete", "deep-*", "--yes")) == 2


def test_health_and_top(kafka: ApacheKafka) -> None:
    barnabas(kafka, "produce", "busy", "--create", stdin="x\n")
    assert all(check["well"] for check in rows(kafka, "cluster", "health", "--wait", "30"))
    seen = rows(kafka, "top", "--interval", "0.5")
    (topic,) = [row for row in seen if row.get("topic") == "busy"]
    assert (topic["records"], topic["bytes"] > 0) == (1, True)
    assert [row["kind"] for row in seen if row["kind"] == "broker"] == ["broker"]


def test_groups_from_the_command_line(kafka: ApacheKafka) -> None:
    rows(kafka, "topics", "create", "read", "-p", "2")
    for partition in (0, 1):  # the group goes with the last offset that it has
        lines = "".join(f"{n}\n" for n in range(partition, 10, 2))
        barnabas(kafka, "produce", "read", "--partition", str(partition), stdin=lines)
    first = barnabas(kafka, "consume", "read", "-g", "billing", "-n", "4").stdout.split()
    rest = barnabas(kafka, "consume", "rea*", "-g", "billing").stdout.split()
    assert (len(first), sorted(map(int, first + rest))) == (4, list(range(10)))
    (summary,) = rows(kafka, "groups", "describe", "billing", "--summary")
    assert (summary["state"], summary["members"], summary["lag"]) == ("Empty", 0, 0)
    places = rows(kafka, "groups", "describe", "billing")
    partition = next(row["partition"] for row in places if row["committed"])
    deleted = rows(kafka, "groups", "delete", "billing", "--topic", f"read:{partition}")
    assert [row["partition"] for row in deleted] == [partition]
    assert partition not in [
        row["partition"] for row in rows(kafka, "groups", "describe", "billing")
    ]


def test_members_of_a_group(kafka: ApacheKafka) -> None:
    barnabas(kafka, "produce", "joined", "--create", stdin="x\n")
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "joiners",
                         "client.id": "a-member", "auto.offset.reset": "earliest"})  # fmt: skip
    try:
        consumer.subscribe(["joined"])
        assert consumer.poll(PATIENCE_SECONDS) is not None
        (member,) = rows(kafka, "groups", "describe", "joiners", "--members")
        assert (member["client"], member["partitions"]) == ("a-member", ["joined:0"])
        (summary,) = rows(kafka, "groups", "describe", "joiners", "--summary")
        assert (summary["assignor"], summary["members"]) == ("range", 1)
    finally:
        consumer.close()


def test_formats_tails_and_times(kafka: ApacheKafka) -> None:
    rows(kafka, "topics", "create", "formed", "-p", "2")
    text = "".join(f"{n % 2} k{n} {1_700_000_000_000 + n} h={n}\t{n}\n" for n in range(10))
    barnabas(kafka, "produce", "formed", "-f", r"%p %k %T %h\t%s\n", stdin=text)
    assert barnabas(kafka, "consume", "formed", "--tail", "3").stdout == "7\n8\n9\n"
    printed = barnabas(kafka, "consume", "-t", "formed", "-f", r"%p %k %T %h\t%s\n").stdout
    assert sorted(printed.splitlines()) == sorted(text.splitlines())
    some = barnabas(
        kafka, "consume", "formed", "-o", "s@1700000000003", "-o", "e@1700000000005"
    ).stdout
    assert sorted(some.split()) == ["3", "4"]


def test_a_copy_is_faithful(kafka: ApacheKafka) -> None:
    for name in ("source", "copy"):
        rows(kafka, "topics", "create", name, "-p", str(PARTITIONS))
    some = random.Random(7)

    def text() -> bytes | None:
        return some.choice((None, b"", b"text", some.randbytes(20)))

    producer = Producer({"bootstrap.servers": kafka.address})
    for n in range(300):
        headers = [("h", text()), ("h", text())][: some.randrange(3)]
        producer.produce("source", text(), text(), n % PARTITIONS,
                         timestamp=1_700_000_000_000 + n, headers=headers)  # fmt: skip
    assert producer.flush(PATIENCE_SECONDS) == 0
    printed = barnabas(kafka, "consume", "source", "--json").stdout
    options = ("--jsonl", "-", "--partition", "partition")
    barnabas(kafka, "produce", "copy", *options, stdin=printed)
    assert read(kafka, "copy") == read(kafka, "source")


def read(kafka: ApacheKafka, topic: str) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "copies",
                         "enable.partition.eof": True})  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    ends = 0
    while ends < PARTITIONS:
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None
        if message.error():
            ends += 1
            continue
        found.append((message.partition(), message.offset(), message.key(), message.value(),
                      message.timestamp(), message.headers()))  # fmt: skip
    consumer.close()
    return sorted(found, key=repr)


def test_settings_and_large_records(kafka: ApacheKafka) -> None:
    rows(kafka, "topics", "create", "large", "-c", "max.message.bytes=5000000")
    large = "x" * 3_000_000
    barnabas(kafka, "produce", "large", "-X", "linger.ms=1", stdin=large + "\n")
    assert barnabas(kafka, "consume", "large").stdout == large + "\n"
    rows(kafka, "topics", "create", "narrow")
    refused = barnabas(kafka, "produce", "narrow", stdin=large + "\n", code=1)
    assert "the broker refused a record for narrow" in refused.stderr
