"""`barnabas groups`: what it shows of real groups, and where it moves them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, TopicPartition

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run

COUNT = 10


@contextmanager
def member(broker: Broker, group: str, topic: str) -> Iterator[Consumer]:
    """A consumer that has joined the group and read something."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "client.id": "a-member",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        assert consumer.poll(20) is not None
        yield consumer
    finally:
        consumer.close()


def committed(broker: Broker, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Make a group without members that has committed."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@pytest.fixture
def topic(run: Run) -> str:
    """A topic of two partitions with ten records each, a second apart from 1000 s on."""
    if run("topics", "create", "read", "--partitions", "2").code == 0:
        rows = "".join(f"{n},{1_000_000 + 1000 * n}\n" for n in range(COUNT))
        for partition in ("0", "1"):
            run("produce", "read", "--partition", partition, "--csv", "-", "--timestamp", "at",
                stdin="n,at\n" + rows)  # fmt: skip
    return "read"


def test_a_group_with_a_member(run: Run, broker: Broker, topic: str) -> None:
    with member(broker, "busy", topic) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 1, 4)], asynchronous=False)
        (listed,) = [r for r in run("groups", "list", "--json").rows if r["group"] == "busy"]
        assert listed == {
            "group": "busy", "type": "classic", "protocol": "consumer", "state": "Stable"
        }  # fmt: skip
        rows = run("groups", "describe", "busy", "--json").rows
        assert [(r["partition"], r["committed"], r["end_offset"], r["lag"]) for r in rows] == [
            (0, None, COUNT, None), (1, 4, COUNT, 6),
        ]  # fmt: skip
        assert {(r["client"], r["state"], r["host"]) for r in rows} == {
            ("a-member", "Stable", "/127.0.0.1")
        }
        for command in (("reset-offsets", "busy", "--to-latest", "--yes"), ("delete", "busy")):
            refused = run("groups", *command)
            assert refused.code == 1
            assert "it has members; stop them first" in refused.stderr
            assert refused.is_one_sentence()


@pytest.mark.parametrize(
    ("target", "moved"),
    [
        (("--to-earliest",), {0: 0, 1: 0}),
        (("--to-latest",), {0: COUNT, 1: COUNT}),
        (("--to-offset", "7"), {0: 7, 1: 7}),
        (("--to-offset", "99"), {0: COUNT, 1: COUNT}),
        (("--shift-by", "-2"), {0: 3, 1: 0}),
        (("--shift-by", "6"), {0: COUNT, 1: 7}),
        (("--to-time", "@1003001"), {0: 4, 1: 4}),
        (("--to-time", "1970-01-01T00:16:48Z"), {0: 8, 1: 8}),
        (("--to-time", "now"), {0: COUNT, 1: COUNT}),
        (("--to-time", "1960-01-01"), {0: 0, 1: 0}),
        (("--to-offset", "0"), {0: 0, 1: 0}),
        (("--to-offset", "7", "--topic", "read:1"), {0: 5, 1: 7}),
    ],
)
def test_offsets_are_moved_after_the_plan(
    run: Run, broker: Broker, topic: str, target: tuple[str, ...], moved: dict[int, int]
) -> None:
    before = {0: 5, 1: 1}
    committed(broker, "idle", topic, before)
    plan = run("groups", "reset-offsets", "idle", *target, "--json").rows
    assert {row["partition"]: row["to"] for row in plan}.items() <= moved.items()
    assert {row["from"] for row in plan} <= {5, 1}
    assert not any(row["done"] for row in plan)
    assert offsets(run, "idle") == before
    done = run("groups", "reset-offsets", "idle", *target, "--yes", "--json")
    assert done.code == 0
    assert all(row["done"] for row in done.rows)
    assert offsets(run, "idle") == moved


def offsets(run: Run, group: str) -> dict[int, int]:
    rows = run("groups", "describe", group, "--json").rows
    return {row["partition"]: row["committed"] for row in rows}


def test_a_plan_says_that_nothing_is_changed(run: Run, broker: Broker, topic: str) -> None:
    committed(broker, "planned", topic, {0: 3})
    outcome = run("groups", "reset-offsets", "planned", "--to-latest")
    assert outcome.stdout.splitlines()[1].split() == ["read", "0", "3", "10", "7", "no"]
    assert outcome.stderr == "nothing is changed yet; --yes does it\n"


def test_a_group_that_does_not_exist_yet(run: Run, topic: str) -> None:
    assert (
        run("groups", "reset-offsets", "to-be", "--topic", topic, "--to-latest", "--yes").code == 0
    )
    assert offsets(run, "to-be") == {0: COUNT, 1: COUNT}


def test_a_group_that_has_committed_to_a_partition_that_is_gone(
    run: Run, broker: Broker, topic: str
) -> None:
    run("topics", "create", "short-lived")
    committed(broker, "bereft", "short-lived", {0: 0})
    committed(broker, "bereft", topic, {1: 2})
    run("topics", "delete", "short-lived")
    rows = run("groups", "describe", "bereft", "--json").rows
    assert [r["lag"] for r in rows if r["topic"] == topic] == [COUNT - 2]
    assert [r["lag"] for r in rows if r["topic"] != topic] in ([], [None])
    plan = run("groups", "reset-offsets", "bereft", "--to-latest", "--json").rows
    assert [row["topic"] for row in plan] == [topic]


def test_a_group_is_deleted(run: Run, broker: Broker, topic: str) -> None:
    committed(broker, "doomed", topic, {0: 1})
    assert run("groups", "delete", "doomed", "--json").rows == [
        {"group": "doomed", "deleted": True}
    ]
    assert "doomed" not in run("groups", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("describe", "idel"), 1, "there is no group idel"),
        (("delete", "nobody"), 1, "there is no group nobody"),
        (("reset-offsets", "still"), 2, "say where to: one of --to-earliest"),
        (("reset-offsets", "still", "--to-earliest", "--to-latest"), 2, "say where to: one of"),
        (("reset-offsets", "still", "--to-time", "soon"), 2, "'soon' is no time"),
        (("reset-offsets", "still", "--shift-by", "x"), 2, "'x' is not a valid integer"),
        (("reset-offsets", "still", "--topic", "read:x", "--to-latest"), 2, "as in orders:0,1"),
        (("reset-offsets", "still", "--topic", "read:5", "--to-latest"), 2, "only 0 to 1"),
        (("reset-offsets", "stil", "--to-latest"), 1, "did you mean still?"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    run: Run, broker: Broker, topic: str, arguments: tuple[str, ...], code: int, words: str
) -> None:
    committed(broker, "still", topic, {0: 1})
    outcome = run("groups", *arguments)
    assert outcome.code == code
    assert words in outcome.stderr
    assert outcome.is_one_sentence()


def test_the_summary_and_the_members(run: Run, broker: Broker, topic: str) -> None:
    with member(broker, "seen", topic) as consumer:
        consumer.commit(
            offsets=[TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)], asynchronous=False
        )
        (summary,) = run("groups", "describe", "seen", "--summary", "--json").rows
        assert summary == {
            "group": "seen", "type": "classic", "protocol": "consumer", "state": "Stable",
            "assignor": "range", "coordinator": 0, "members": 1, "topics": 1, "lag": 13,
        }  # fmt: skip
        (row,) = run("groups", "describe", "seen", "--members", "--json").rows
        assert (row["client"], row["partitions"]) == ("a-member", [f"{topic}:0", f"{topic}:1"])
        refused = run("groups", "delete", "seen", "--topic", topic)
        assert (refused.code, "not deleted: seen: " in refused.stderr) == (1, True)
    (summary,) = run("groups", "describe", "seen", "--summary", "--json").rows
    assert (summary["state"], summary["members"]) == ("Empty", 0)
    assert run("groups", "describe", "seen", "--summary", "--members").code == 2


def test_offsets_of_some_topics_are_deleted(run: Run, broker: Broker, topic: str) -> None:
    committed(broker, "partly", topic, {0: 1, 1: 2})
    gone = run("groups", "delete", "partly", "--topic", f"{topic}:1", "--json")
    assert gone.rows == [{"group": "partly", "topic": topic, "partition": 1, "deleted": True}]
    rows = run("groups", "describe", "partly", "--json").rows
    assert [(row["partition"], row["committed"]) for row in rows] == [(0, 1)]
    again = run("groups", "delete", "partly", "--topic", f"{topic}:1")
    assert (again.code, "has committed nothing for" in again.stderr) == (1, True)
    assert run("groups", "delete", "partly", "--topic", f"{topic}:x").code == 2
