"""Apache Kafka's `kafka-consumer-groups`, of 4.4.0 and 3.9.1: all its actions (issue 6, item 5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from broker_admin import BrokerAdmin, unique_name
from clients import ClientPool
from families import LIBRDKAFKA
from kafka_tools import RELEASES, KafkaTools, Outcome


class Group:
    """A group of two partitions with 10 records each, read to the end by a member that left."""

    def __init__(self, tools: KafkaTools, clients: ClientPool, admin: BrokerAdmin) -> None:
        self.tools, self.admin = tools, admin
        self.topic, self.name = admin.create_topic("tool", 2), unique_name("tool")
        for partition in (0, 1):
            clients.run(LIBRDKAFKA, "produce", topic=self.topic, partition=partition, count=10)
        self.options: dict[str, Any] = {"group": self.name, "topic": self.topic, "commit": "sync"}
        clients.run(LIBRDKAFKA, "group", count=20, **self.options)

    def ok(self, *arguments: str) -> Outcome:
        return self.tools.ok("kafka-consumer-groups", *arguments)

    def describe(self, *arguments: str) -> list[dict[str, str]]:
        return self.ok("--describe", "--group", self.name, *arguments).table()

    @property
    def committed(self) -> dict[int, int]:
        """Committed offset by partition, as another client sees it."""
        found = self.admin.committed(self.name)
        return {partition: offset for (_, partition), offset in found.items()}


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest, broker_address: str) -> Iterator[KafkaTools]:
    """The tools of one release."""
    tools = KafkaTools(request.param, broker_address)
    yield tools
    tools.close()


@pytest.fixture
def group(tools: KafkaTools, clients: ClientPool, broker_admin: BrokerAdmin) -> Group:
    """An empty group with committed offsets."""
    return Group(tools, clients, broker_admin)


def test_an_empty_group_is_listed_and_described(group: Group) -> None:
    assert group.name in group.ok("--list").lines
    states = group.ok("--list", "--state").table()
    assert {"GROUP": group.name, "STATE": "Empty"} in states
    rows = group.describe()
    assert [
        (row["TOPIC"], row["PARTITION"], row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"])
        for row in rows
    ] == [(group.topic, "0", "10", "10", "0"), (group.topic, "1", "10", "10", "0")]
    state = group.ok("--describe", "--group", group.name, "--state").lines[-1]
    assert state.split()[-2:] == ["Empty", "0"]


def test_members_are_described_while_they_are_there(group: Group, clients: ClientPool) -> None:
    with clients.member(LIBRDKAFKA, instance_id="static-1", **group.options) as member:
        member.wait_until(lambda: len(member.assignment) == 2, "two partitions")
        rows = group.describe()
        assert {row["PARTITION"] for row in rows} == {"0", "1"}
        assert all(row["CONSUMER-ID"].startswith("static-1-") for row in rows)
        assert all(row["HOST"].startswith("/") for row in rows)
        (state,) = group.describe("--state")
        assert (state["STATE"], state["#MEMBERS"]) == ("Stable", "1")
        assert state["ASSIGNMENT-STRATEGY"] == "range"
        (row,) = group.describe("--members", "--verbose")
        assert (row["GROUP-INSTANCE-ID"], row["#PARTITIONS"]) == ("static-1", "2")
        listed = group.ok("--list", "--state", "stable").table()
        assert {"GROUP": group.name, "STATE": "Stable"} in listed


def test_an_active_group_is_neither_reset_nor_deleted(group: Group, clients: ClientPool) -> None:
    with clients.member(LIBRDKAFKA, **group.options) as member:
        member.wait_until(lambda: len(member.assignment) == 2, "two partitions")
        deleted = group.tools.run("kafka-consumer-groups", "--delete", "--group", group.name)
        assert "GroupNotEmptyException" in deleted.out + deleted.err
        reset = group.tools.run(
            "kafka-consumer-groups", "--reset-offsets", "--group", group.name,
            "--topic", group.topic, "--to-earliest", "--execute",
        )  # fmt: skip
        assert "Stable" in reset.out + reset.err
        dropped = group.tools.run(
            "kafka-consumer-groups", "--delete-offsets", "--group", group.name,
            "--topic", group.topic,
        )  # fmt: skip
        assert "GroupSubscribedToTopicException" in dropped.out + dropped.err
    assert group.committed == {0: 10, 1: 10}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (["--to-earliest"], 0),
        (["--to-latest"], 10),
        (["--to-current"], 10),
        (["--shift-by", "-4"], 6),
        (["--to-offset", "3"], 3),
        (["--to-offset", "99"], 10),
        (["--to-datetime", "2020-01-01T00:00:00.000"], 0),
        (["--by-duration", "PT1H"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_offsets_are_reset(group: Group, target: list[str], expected: int) -> None:
    scope = ("--reset-offsets", "--group", group.name, "--topic", group.topic)
    dry = group.ok(*scope, *target, "--dry-run").table()
    assert {(row["PARTITION"], row["NEW-OFFSET"]) for row in dry} == {
        ("0", str(expected)),
        ("1", str(expected)),
    }
    assert group.committed == {0: 10, 1: 10}
    group.ok(*scope, *target, "--execute")
    assert group.committed == {0: expected, 1: expected}


def test_offsets_are_exported_and_reset_from_a_file(group: Group, tmp_path: Path) -> None:
    exported = group.ok(
        "--reset-offsets", "--group", group.name, "--all-topics", "--to-current", "--export",
        "--dry-run",
    )  # fmt: skip
    assert sorted(line.replace('"', "") for line in exported.lines) == [
        f"{group.topic},0,10",
        f"{group.topic},1,10",
    ]
    (tmp_path / "plan.csv").write_text(f"{group.topic},1,4\n")
    plan = ("--from-file", str(tmp_path / "plan.csv"), "--execute")
    group.ok("--reset-offsets", "--group", group.name, *plan)
    assert group.committed == {0: 10, 1: 4}


def test_one_partitions_offset_is_deleted(group: Group) -> None:
    scope = ("--delete-offsets", "--group", group.name, "--topic", f"{group.topic}:0")
    (row,) = group.ok(*scope).table()
    assert (row["PARTITION"], row["STATUS"]) == ("0", "Successful")
    assert group.committed == {1: 10}


def test_a_group_is_deleted_and_then_unknown(group: Group) -> None:
    done = group.ok("--delete", "--group", group.name)
    assert f"('{group.name}') was successful" in done.out
    assert group.name not in group.ok("--list").lines
    again = group.tools.run("kafka-consumer-groups", "--delete", "--group", group.name)
    assert "GroupIdNotFoundException" in again.out + again.err
