"""Our __consumer_offsets in Apache Kafka's hands: its dump tool's decoder, and a broker of its own.

The records are made by real clients against a Barnabas: a group with a static member, one whose
member left, offsets without a group, and a group that was deleted.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from broker_fixture import running_barnabas
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from dump_tool import TOOLS
from kafka_server import running_kafka
from oracles import run_java

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.disk.fs import REAL

PATIENCE_SECONDS = 60.0
OFFSETS = "__consumer_offsets-0"


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def version(request: pytest.FixtureRequest) -> str:
    """A release of Apache Kafka."""
    return str(request.param)


@pytest.fixture(scope="module")
def ours(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the partition as that release would write it, one member still there."""
    folder = tmp_path_factory.mktemp("ours")
    data = folder / "data"
    data.mkdir()
    settings = ("offsets.topic.num.partitions=1", f"barnabas.pose.as={version}")
    with running_barnabas(data, *settings) as address:
        member = _make_groups(address)
        shutil.copytree(data / OFFSETS, folder / OFFSETS)
        member.close()
    yield folder / OFFSETS


def _make_groups(address: str) -> Consumer:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("orders", 3, 1)])["orders"].result(PATIENCE_SECONDS)
    for group, offset in (("simple", 11), ("simple", 12), ("deleted", 5)):
        place = TopicPartition("orders", 0, offset, metadata=f"at {offset}")
        asked = ConsumerGroupTopicPartitions(group, [place])
        admin.alter_consumer_group_offsets([asked])[group].result(PATIENCE_SECONDS)
    admin.delete_consumer_groups(["deleted"])["deleted"].result(PATIENCE_SECONDS)
    _member(address, "left").close()
    return _member(address, "static", **{"group.instance.id": "i-1"})


def _member(address: str, group: str, **options: str) -> Consumer:
    """A member that has an assignment, and commits offset 7 of partition 1."""
    settings: dict[str, Any] = {
        "bootstrap.servers": address, "group.id": group, "enable.auto.commit": False,
        "client.id": "probe", "session.timeout.ms": 45_000,
    }  # fmt: skip
    consumer = Consumer(settings | options)
    consumer.subscribe(["orders"])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not consumer.assignment():
        consumer.poll(0.1)
        assert time.monotonic() < deadline
    consumer.commit(offsets=[TopicPartition("orders", 1, 7)], asynchronous=False)
    return consumer


def _decoded(version: str, log: Path) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Keys and values as the tool's offsets decoder shows them."""
    options = ("--files", str(log), "--offsets-decoder", "--print-data-log")
    found = []
    for line in run_java(version, TOOLS[f"jars-{version}"], *options).splitlines():
        _, key, rest = line.partition(" key: ")
        if key:
            shown, _, payload = rest.partition(" payload: ")
            found.append(
                (json.loads(shown), None if payload == "<DELETE>" else json.loads(payload))
            )
    return found


def test_the_dump_tool_decodes_every_record(version: str, ours: Path) -> None:
    decoded = _decoded(version, ours / f"{0:020}.log")
    offsets = [
        (key["data"]["group"], key["data"]["partition"], value and value["data"]["offset"])
        for key, value in decoded
        if key["type"] == "1"
    ]
    assert offsets == [
        ("simple", 0, 11),
        ("simple", 0, 12),
        ("deleted", 0, 5),
        ("deleted", 0, None),
        ("left", 1, 7),
        ("static", 1, 7),
    ]
    groups = [
        (key["data"]["group"], value["data"])
        for key, value in decoded
        if key["type"] == "2" and value
    ]
    assert [(name, len(data["members"])) for name, data in groups] == [
        ("left", 1),
        ("left", 0),
        ("static", 1),
    ]
    (member,) = groups[-1][1]["members"]
    assert (member["groupInstanceId"], member["clientId"]) == ("i-1", "probe")
    assert (member["clientHost"], member["sessionTimeout"]) == ("/127.0.0.1", 45_000)
    assert member["subscription"]["topics"] == ["orders"]
    assert member["assignment"]["assignedPartitions"] == [
        {"topic": "orders", "partitions": [0, 1, 2]}
    ]


def test_a_broker_of_kafkas_has_our_groups(version: str, ours: Path, tmp_path: Path) -> None:
    """It makes its own partition, is stopped, is given ours, and started again."""
    with running_kafka(version, tmp_path / "kafka") as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.address, "log_level": 0})
        admin.create_topics([NewTopic("orders", 3, 1)])["orders"].result(PATIENCE_SECONDS)
        _member(kafka.address, "forgotten").close()
        kafka.stop()
        _put_in_place(ours, kafka.data)
        kafka.start()
        _check_groups(AdminClient({"bootstrap.servers": kafka.address, "log_level": 0}))
        again = _member(kafka.address, "static", **{"group.instance.id": "i-1"})
        again.close()


def _put_in_place(ours: Path, data: Path) -> None:
    theirs = data / OFFSETS
    topic_id = read_topic_id(REAL, str(theirs))
    assert topic_id is not None
    shutil.rmtree(theirs)
    shutil.copytree(ours, theirs)
    (theirs / "partition.metadata").unlink()
    write_topic_id(REAL, str(theirs), topic_id)
    for name in (checkpoints.RECOVERY_POINT, checkpoints.REPLICATION):
        offsets = checkpoints.read_offsets(REAL, str(data / name))
        offsets = {place: at for place, at in offsets.items() if str(place) != OFFSETS}
        checkpoints.write_offsets(REAL, str(data / name), offsets)
    (data / ".kafka_cleanshutdown").unlink()


def _check_groups(admin: AdminClient) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    loaded: set[str] = set()
    while loaded != {"simple", "left", "static"}:
        assert time.monotonic() < deadline, f"of our groups only {loaded} were loaded"
        time.sleep(0.2)
        listed = admin.list_consumer_groups().result(PATIENCE_SECONDS).valid
        loaded = {group.group_id for group in listed}
    for group, partition, offset, metadata in (
        ("simple", 0, 12, "at 12"),
        ("left", 1, 7, ""),
        ("static", 1, 7, ""),
    ):
        asked = [ConsumerGroupTopicPartitions(group)]
        answer = _when_loaded(admin, asked, group)
        found = [(p.partition, p.offset, p.metadata or "") for p in answer.topic_partitions]
        assert found == [(partition, offset, metadata)]
    static = admin.describe_consumer_groups(["static"])["static"].result(PATIENCE_SECONDS)
    assert static.state.name == "STABLE"
    (member,) = static.members
    assert (member.group_instance_id, member.client_id) == ("i-1", "probe")
    assert [p.partition for p in member.assignment.topic_partitions] == [0, 1, 2]


def _when_loaded(
    admin: AdminClient, asked: list[ConsumerGroupTopicPartitions], group: str
) -> ConsumerGroupTopicPartitions:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return admin.list_consumer_group_offsets(asked)[group].result(PATIENCE_SECONDS)
        except KafkaException:
            assert time.monotonic() < deadline
            time.sleep(0.2)
