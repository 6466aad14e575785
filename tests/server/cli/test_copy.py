"""`barnabas consume --json | barnabas produce --jsonl -`: a copy of a topic, record by record."""

import random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run, run_apart

PARTITIONS = 3
TEXTS = (
    None,
    b"",
    b"text",
    b"two\nlines",
    "é".encode(),
    b"null",
    b'{"base64":"AA=="}',
    b"\x00\xff",
)
Copied = tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]


def send_random(broker: Broker, topic: str, count: int) -> None:
    some = random.Random(17)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def text() -> bytes | None:
        return some.choice(TEXTS) if some.random() < 0.5 else some.randbytes(some.randrange(40))

    for _ in range(count):
        producer.produce(
            topic, text(), text(), some.randrange(PARTITIONS),
            timestamp=some.randrange(1, 2_000_000_000_000),
            headers=[(some.choice("aé "), text()) for _ in range(some.randrange(3))],
        )  # fmt: skip
    assert producer.flush(30) == 0


def read(broker: Broker, topic: str) -> dict[int, list[Copied]]:
    """Every record of each partition, as librdkafka reads them."""
    found: dict[int, list[Copied]] = {}
    settings: dict[str, Any] = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "copies"}
    consumer = Consumer(settings | {"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    ends = 0
    while ends < PARTITIONS:
        message = consumer.poll(30)
        assert message is not None
        if message.error():
            ends += 1
        else:
            found.setdefault(message.partition(), []).append(
                (message.key(), message.value(), message.timestamp()[1], message.headers() or [])
            )
    consumer.close()
    return found


def whole(found: dict[int, list[Copied]]) -> list[str]:
    return sorted(repr(record) for records in found.values() for record in records)


@pytest.mark.parametrize("by_partition", [True, False])
def test_a_topic_of_random_records_is_copied(broker: Broker, run: Run, by_partition: bool) -> None:
    source, copy = f"random-{by_partition}", f"copy-{by_partition}"
    for topic in (source, copy):
        broker.create_topic(topic, PARTITIONS)
    send_random(broker, source, 1000)
    printed = run("consume", source, "--json")
    assert printed.code == 0
    options = ("--partition", "partition") if by_partition else ()
    outcome = run("produce", copy, "--jsonl", "-", *options, stdin=printed.stdout)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stderr.startswith("1,000 records, ")
    original, copied = read(broker, source), read(broker, copy)
    if by_partition:
        assert copied == original
    else:
        assert whole(copied) == whole(original)


def test_columns_are_taken_from_what_consume_printed(broker: Broker, run: Run) -> None:
    broker.create_topic("columns", 1)
    line = (
        '{"topic":"t","partition":0,"offset":7,"timestamp":1700000000000,'
        '"key":"k","value":{"base64":"AP8="},"headers":[["h",null]]}\n'
    )
    outcome = run("produce", "columns", "--jsonl", "-", "--key", "offset", stdin=line)
    assert outcome.code == 0, outcome.stderr
    (row,) = run("consume", "columns", "--json").rows
    assert (row["key"], row["value"], row["headers"], row["timestamp"]) == (
        "7", {"base64": "AP8="}, [["h", None]], 1_700_000_000_000,
    )  # fmt: skip
    assert run("produce", "columns", "--lines", "-", stdin=line).code == 0
    assert run("consume", "columns", "--from", "-1").stdout == line


def test_headers_partition_and_bytes_by_column(broker: Broker, run: Run) -> None:
    broker.create_topic("parts", 3)
    lines = (
        '{"k":{"base64":"/w=="},"h":{"a":"1","b":null},"p":2,"v":"x"}\n'
        '{"k":"","h":null,"p":"1","v":null}\n'
    )
    options = ("--key", "k", "--value", "v", "--headers", "h", "--partition", "p")
    outcome = run("produce", "parts", "--jsonl", "-", *options, "--header", "z=9", stdin=lines)
    assert outcome.code == 0, outcome.stderr
    table = 'k,h,p,v\nc,"[[""a"",""2""]]",0,y\nd,,,z\n'
    assert run("produce", "parts", "--csv", "-", *options, stdin=table).code == 0
    rows = {row["value"]: row for row in run("consume", "parts", "--json").rows}
    assert (rows["x"]["partition"], rows["x"]["key"]) == (2, {"base64": "/w=="})
    assert rows["x"]["headers"] == [["a", "1"], ["b", None], ["z", "9"]]
    assert (rows[None]["partition"], rows[None]["key"]) == (1, "")
    assert rows[None]["headers"] == [["z", "9"]]
    assert (rows["y"]["partition"], rows["y"]["headers"]) == (0, [["a", "2"]])
    assert rows["z"]["headers"] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"k":{"base64":"*"}}', "--key: standard input:1: '*' is not base64"),
        ('{"k":1,"h":"x"}', "--headers: standard input:1: headers are like"),
        ('{"k":1,"h":[["a"]]}', "--headers: standard input:1: headers are like"),
        ('{"k":1,"h":null,"p":-1}', "--partition: standard input:1: '-1' is not the number"),
        ('{"k":1,"h":null,"p":9}', "record 1: unrecognized partition 9"),
    ],
)
def test_what_cannot_be_a_record(broker: Broker, run: Run, line: str, words: str) -> None:
    run("topics", "create", "refused", "--if-not-exists")
    options = ["--key", "k", *(("--headers", "h") if '"h"' in line else ())]
    options += ["--partition", "p"] if '"p"' in line else []
    outcome = run("produce", "refused", "--jsonl", "-", *options, stdin=line + "\n")
    assert outcome.code == 2
    assert words in outcome.stderr
    assert outcome.is_one_sentence()


def test_a_copy_through_a_pipe_of_processes(broker: Broker) -> None:
    apart = run_apart(broker.bootstrap_servers)
    broker.create_topic("apart", 1)
    assert apart("produce", "apart", stdin="one\n").code == 0
    printed = apart("consume", "apart", "--json").stdout
    assert apart("produce", "apart", "--jsonl", "-", stdin=printed).code == 0
    assert apart("consume", "apart").stdout == "one\none\n"
