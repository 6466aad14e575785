"""The same questions to Apache Kafka and to Barnabas, and the same answers.

Every probe is a function that asks one thing of a fresh group and returns what it saw, with
member ids left out. Kafka 3.9.1 is held against Barnabas as it is, 4.4.0 against one that poses
as 4.4.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from broker_fixture import running_barnabas
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka_server import ApacheKafka

from barnabas.wire.connection import ClientConnection
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.schema import Message

SETTINGS = {"group.max.size": "2", "group.min.session.timeout.ms": "6000"}
PATIENCE_SECONDS = 60.0
SUBSCRIPTION = bytes.fromhex("0000 00000001 0006") + b"orders" + bytes.fromhex("ffffffff")
Seen = dict[str, Any]


class Connection:
    """One connection to one broker."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
        self._wire = ClientConnection("probe")

    def send(self, request: Message, version: int) -> None:
        self._socket.sendall(self._wire.send(request, version))

    def receive(self) -> Any:
        while (found := self._wire.next_response()) is None:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("closed")
            self._wire.receive_data(data)
        assert not isinstance(found, bytes)
        return found[1]

    def call(self, request: Message, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def close(self) -> None:
        self._socket.close()


@dataclass
class Asker:
    """A broker, and a group name that nobody has used."""

    address: str
    release: int
    group: str
    connections: list[Connection]

    def connect(self) -> Connection:
        connection = Connection(self.address)
        self.connections.append(connection)
        return connection

    def member(self, instance_id: str | None = None, **options: Any) -> Member:
        return Member(self.connect(), self.group, instance_id, options)


@dataclass
class Member:
    """A member of the group, as it sees itself."""

    connection: Connection
    group: str
    instance_id: str | None
    options: dict[str, Any]
    member_id: str = ""
    generation: int = -1

    def request(self, **changes: Any) -> JoinGroupRequest:
        values: dict[str, Any] = {
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 30_000,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        }
        values |= self.options | changes
        return JoinGroupRequest(
            group_id=self.group,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            **values,
        )

    def take(self, response: Any) -> Any:
        self.member_id = response.member_id or self.member_id
        self.generation = response.generation_id
        return response

    def join(self, version: int = 9, **changes: Any) -> Any:
        response = self.take(self.connection.call(self.request(**changes), version))
        if response.error_code == 79:
            response = self.take(self.connection.call(self.request(**changes), version))
        return response

    def sync(self, version: int = 5, assigns: bool = True, **changes: Any) -> Any:
        values: dict[str, Any] = {
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }
        if version >= 5:
            kind = self.options.get("protocol_type", "consumer")
            values |= {"protocol_type": kind, "protocol_name": "range"}
        if assigns:
            mine = SyncGroupRequestAssignment(member_id=self.member_id, assignment=b"mine")
            values["assignments"] = [mine]
        return self.connection.call(
            SyncGroupRequest(group_id=self.group, **(values | changes)), version
        )

    def heartbeat(self, version: int = 4, **changes: Any) -> int:
        values: dict[str, Any] = {
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }
        request = HeartbeatRequest(group_id=self.group, **(values | changes))
        return int(self.connection.call(request, version).error_code)

    def settle(self) -> Member:
        assert self.join().error_code == 0
        assert self.sync().error_code == 0
        return self

    def commit(self, version: int = 8, **changes: Any) -> list[int]:
        who: dict[str, Any] = {
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }
        return commit(self.connection, self.group, version, **(who | changes))


def commit(connection: Connection, group: str, version: int = 8, **options: Any) -> list[int]:
    """Commit offset 5 of partitions 0 and 9 of orders; the error codes."""
    topic, text = options.pop("topic", "orders"), options.pop("text", "m")
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=5, committed_metadata=text
        )
        for index in (0, 9)
    ]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=partitions)]
    request = OffsetCommitRequest(group_id=group, topics=topics, **options)
    answered = connection.call(request, version).topics[0].partitions
    return [p.error_code for p in sorted(answered, key=lambda p: p.partition_index)]


def fetched(connection: Connection, group: str, version: int, topic: str | None) -> Any:
    """The group's offsets, and errors at every place."""
    if version >= 8:
        topics = [OffsetFetchRequestTopics(name=topic or "", partition_indexes=[0, 1])]
        asked = OffsetFetchRequestGroup(group_id=group, topics=topics if topic else None)
        response = connection.call(OffsetFetchRequest(groups=[asked]), version).groups[0]
    else:
        old = [OffsetFetchRequestTopic(name=topic or "", partition_indexes=[0, 1])]
        request = OffsetFetchRequest(group_id=group, topics=old if topic else None)
        response = connection.call(request, version)
    return response.error_code, [
        (t.name, p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata,
         p.error_code)
        for t in response.topics
        for p in sorted(t.partitions, key=lambda p: p.partition_index)
    ]  # fmt: skip


def joined(response: Any, member_id: str = "") -> Seen:
    """A JoinGroup's answer without ids."""
    return {
        "error": response.error_code,
        "generation": response.generation_id,
        "type": response.protocol_type,
        "protocol": response.protocol_name,
        "leads": response.leader == response.member_id,
        "has id": bool(response.member_id),
        "same id": response.member_id == member_id,
        "skip": response.skip_assignment,
        "members": len(response.members),
    }


# --- the probes ------------------------------------------------------------------------------

PROBES: dict[str, Callable[[Asker], Any]] = {}


def probe(function: Callable[[Asker], Any]) -> Callable[[Asker], Any]:
    PROBES[function.__name__] = function
    return function


@probe
def joins_in_every_version(asker: Asker) -> Any:
    seen = []
    for version in range(10):
        member = asker.member()
        member.group = f"{asker.group}-{version}"
        first = member.connection.call(member.request(), version)
        seen.append(joined(first))
        member.take(first)
        if first.error_code:
            seen.append(joined(member.join(version), first.member_id))
    return seen


@probe
def joins_that_are_refused(asker: Asker) -> Any:
    def refused(version: int = 5, member_id: str = "", **options: Any) -> Seen:
        member = asker.member(**options)
        member.member_id = member_id
        return joined(member.connection.call(member.request(), version), member_id)

    seen = [
        refused(session_timeout_ms=5_999),
        refused(session_timeout_ms=1_800_001),
        refused(protocols=[]),
        refused(protocol_type=""),
        refused(member_id="made-up"),
        refused(version=9, member_id="made-up"),
        refused(version=0, member_id="made-up"),
    ]
    unnamed = asker.member()
    unnamed.group = ""
    seen.append(joined(unnamed.connection.call(unnamed.request(), 9)))
    asker.member().settle()
    other = [JoinGroupRequestProtocol(name="other", metadata=b"")]
    seen += [
        refused(protocols=other),
        refused(version=9, protocols=other),
        refused(protocol_type="connect"),
        refused(member_id="made-up"),
    ]
    return seen


@probe
def a_group_that_is_full(asker: Asker) -> Any:
    first, second, third = asker.member(), asker.member(), asker.member()
    first.settle()
    second.take(second.connection.call(second.request(), 9))
    second.connection.send(second.request(), 9)
    while first.heartbeat() == 0:
        time.sleep(0.01)
    told = first.join()
    second.take(second.connection.receive())
    refused = [joined(third.join(version)) for version in (3, 9)]
    return joined(told), refused, first.heartbeat()


@probe
def joining_again(asker: Asker) -> Any:
    member = asker.member()
    seen = [joined(member.join())]
    seen.append(joined(member.join(), member.member_id))
    member.sync()
    seen.append(joined(member.join(), member.member_id))
    return seen


@probe
def static_members(asker: Asker) -> Any:
    old, seen = asker.member("i").settle(), []
    for version in (5, 8, 9):
        new = asker.member("i")
        response = new.join(version)
        seen.append((joined(response), new.sync(assigns=False).assignment))
        seen.append([old.heartbeat(), joined(old.join()), old.sync().error_code, old.commit()])
        old = new
    unknown = asker.member("nobody")
    unknown.member_id, unknown.generation = old.member_id, old.generation
    seen.append([unknown.heartbeat(), unknown.sync().error_code, unknown.commit()])
    changed = [
        JoinGroupRequestProtocol(name="other", metadata=b""),
        JoinGroupRequestProtocol(name="range", metadata=b""),
    ]
    seen.append(joined(asker.member("i").join(protocols=changed)))
    return seen


@probe
def syncs(asker: Asker) -> Any:
    member = asker.member()
    seen: list[Any] = [member.sync(generation_id=1, member_id="x").error_code]
    member.join()
    for changes in (
        {"generation_id": 9}, {"member_id": "x"}, {"protocol_name": "other"},
        {"protocol_type": "connect"}, {"protocol_name": None}, {"group_id": ""},
    ):  # fmt: skip
        group = changes.pop("group_id", member.group)
        kept, member.group = member.group, str(group)
        answer = member.sync(**changes)
        member.group = kept
        seen.append((answer.error_code, answer.protocol_type, answer.assignment))
    for version in range(6):
        answer = member.sync(version)
        seen.append((answer.error_code, answer.protocol_type, answer.protocol_name))
    return seen


@probe
def heartbeats(asker: Asker) -> Any:
    member = asker.member()
    seen = [member.heartbeat(generation_id=1, member_id="x")]
    member.settle()
    seen += [member.heartbeat(version) for version in range(5)]
    seen += [
        member.heartbeat(generation_id=9),
        member.heartbeat(member_id="x"),
        member.heartbeat(member_id=""),
        member.heartbeat(group_instance_id="x"),
    ]
    member.group = ""
    seen.append(member.heartbeat())
    return seen


@probe
def leaves(asker: Asker) -> Any:
    member = asker.member("i").settle()
    identities = [
        MemberIdentity(member_id="x"),
        MemberIdentity(member_id=""),
        MemberIdentity(member_id="x", group_instance_id="i"),
        MemberIdentity(member_id="", group_instance_id="x"),
        MemberIdentity(member_id="", group_instance_id="i"),
        MemberIdentity(member_id=member.member_id, group_instance_id="i"),
    ]
    seen = []
    for group in (member.group, f"{member.group}-none", ""):
        request = LeaveGroupRequest(group_id=group, members=identities)
        answer = member.connection.call(request, 5)
        seen.append(
            (answer.error_code, [(m.group_instance_id, m.error_code) for m in answer.members])
        )
    for version in range(3):
        request = LeaveGroupRequest(group_id=member.group, member_id="x")
        seen.append(member.connection.call(request, version).error_code)
    return seen


@probe
def commits(asker: Asker) -> Any:
    connection = asker.connect()
    seen: list[Any] = [
        commit(connection, f"{asker.group}-{v}", v)
        for v in range(2 if asker.release > 3 else 1, 10)
    ]
    seen += [
        commit(connection, asker.group, text=None),
        commit(connection, asker.group, text="x" * 4097),
        commit(connection, asker.group, topic="nowhere"),
        commit(connection, asker.group, generation_id_or_member_epoch=1, member_id="x"),
        commit(connection, f"{asker.group}-new", generation_id_or_member_epoch=1, member_id="x"),
        commit(connection, asker.group, group_instance_id="x"),
        commit(connection, ""),
    ]
    member = asker.member()
    member.group = f"{asker.group}-members"
    member.join()
    seen.append(member.commit())
    member.sync()
    seen += [
        member.commit(),
        member.commit(generation_id_or_member_epoch=9),
        member.commit(member_id="x"),
        member.commit(generation_id_or_member_epoch=-1),
        member.commit(generation_id_or_member_epoch=-1, member_id=""),
        member.commit(group_instance_id="x"),
        commit(connection, member.group),
    ]
    return seen


@probe
def fetches(asker: Asker) -> Any:
    connection = asker.connect()
    versions = range(1, 10)
    seen = [fetched(connection, asker.group, version, "orders") for version in versions]
    commit(connection, asker.group)
    seen += [fetched(connection, asker.group, version, "orders") for version in versions]
    seen += [fetched(connection, asker.group, version, None) for version in range(2, 10)]
    seen += [fetched(connection, asker.group, version, "nowhere") for version in (5, 9)]
    seen.append(fetched(connection, "", 9, "orders"))
    return seen


@probe
def descriptions(asker: Asker) -> Any:
    seen: list[Any] = []
    member = asker.member("i")
    versions = range(7 if asker.release > 3 else 6)

    def look(group: str, version: int, operations: bool = False) -> None:
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=operations)
        (found,) = member.connection.call(request, version).groups
        message = (found.error_message or "").replace(group, "G")
        seen.append([
            found.error_code, message, found.group_state, found.protocol_type, found.protocol_data,
            found.authorized_operations,
            [(m.client_id, m.client_host, m.group_instance_id, m.member_metadata,
              m.member_assignment) for m in found.members],
        ])  # fmt: skip

    for version in versions:
        look(f"{asker.group}-none", version)
    member.join()
    look(asker.group, 5)
    member.sync()
    for version in versions:
        look(asker.group, version)
    look(asker.group, 5, operations=True)
    look("", 5)
    commit(member.connection, f"{asker.group}-simple")
    look(f"{asker.group}-simple", 5)
    member.connection.call(
        LeaveGroupRequest(
            group_id=asker.group,
            members=[MemberIdentity(member_id="", group_instance_id="i")],
        ),
        5,
    )
    look(asker.group, 5)
    consumer = ConsumerGroupDescribeRequest(group_ids=[asker.group, f"{asker.group}-none"])
    if asker.release > 3:
        for found in member.connection.call(consumer, 1).groups:
            name = found.group_id
            seen.append([found.error_code, (found.error_message or "").replace(name, "G")])
    return seen


@probe
def lists(asker: Asker) -> Any:
    member = asker.member().settle()
    commit(member.connection, f"{asker.group}-simple")
    seen = []
    for version, states, types in (
        *((version, [], []) for version in range(6)),
        (4, ["stable"], []), (5, ["Empty", "Dead"], []), (5, [], ["Classic"]),
        (5, [], ["consumer"]), (5, ["Stable"], ["classic", "consumer"]),
    ):  # fmt: skip
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        answer = member.connection.call(request, version)
        mine = sorted(
            (
                g.group_id.removeprefix(asker.group),
                g.protocol_type,
                g.group_state,
                g.group_type.lower(),
            )
            for g in answer.groups
            if g.group_id.startswith(asker.group)
        )
        seen.append((answer.error_code, mine))
    return seen


@probe
def deletions(asker: Asker) -> Any:
    member = asker.member().settle()
    simple = f"{asker.group}-simple"
    seen = []
    for version in range(3):
        commit(member.connection, simple)
        request = DeleteGroupsRequest(groups_names=[simple, asker.group, f"{asker.group}-none"])
        answer = member.connection.call(request, version)
        codes = {r.group_id.removeprefix(asker.group): r.error_code for r in answer.results}
        seen.append((codes, fetched(member.connection, simple, 5, None)))
    return seen


@probe
def offset_deletions(asker: Asker) -> Any:
    member = asker.member().settle()
    member.commit()
    member.commit(topic="audit")
    commit(member.connection, f"{asker.group}-simple")
    connect = asker.member(protocol_type="connect")
    connect.group = f"{asker.group}-connect"
    connect.settle()
    seen = []
    for group in ("", "-simple", "-none", "-connect"):
        topics = [
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=i) for i in (0, 9)],
            )
            for name in ("orders", "audit", "nowhere")
        ]
        request = OffsetDeleteRequest(group_id=asker.group + group, topics=topics)
        answer = member.connection.call(request, 0)
        partitions = sorted(
            (t.name, p.partition_index, p.error_code) for t in answer.topics for p in t.partitions
        )
        seen.append((answer.error_code, partitions if not answer.error_code else []))
        seen.append(fetched(member.connection, asker.group + group, 5, None))
    return seen


@probe
def coordinators(asker: Asker) -> Any:
    connection = asker.connect()
    seen = []
    for version in range(4):
        found = connection.call(FindCoordinatorRequest(key=asker.group), version)
        seen.append((found.error_code, found.host))
    for kind, version in ((0, 4), (0, 6), (2, 5), (9, 6)):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[asker.group, ""])
        answer = connection.call(request, version)
        seen.append([(c.error_code, c.host) for c in answer.coordinators])
    return seen


# --- both brokers ----------------------------------------------------------------------------


@dataclass
class Pair:
    """What both said, by probe."""

    kafka: Seen
    ours: Seen


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Every probe's answers, first of Kafka, then of Barnabas."""
    version: str = request.param
    folder = tmp_path_factory.mktemp(f"same-{version}")
    kafka = ApacheKafka(version, folder / "kafka", SETTINGS)
    try:
        kafka.start()
        theirs = _ask_everything(kafka.address, int(version[0]))
    finally:
        kafka.close()
    with _barnabas(folder, version) as address:
        yield Pair(theirs, _ask_everything(address, int(version[0])))


@contextmanager
def _barnabas(folder: Path, version: str) -> Iterator[str]:
    data = folder / "barnabas"
    data.mkdir()
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    settings += ["auto.create.topics.enable=false", "offsets.topic.num.partitions=1"]
    if version.startswith("4"):
        settings.append(f"barnabas.pose.as={version}")
    with running_barnabas(data, *settings) as address:
        yield address


def _ask_everything(address: str, release: int) -> Seen:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for made in admin.create_topics([NewTopic("orders", 2, 1), NewTopic("audit", 1, 1)]).values():
        made.result(PATIENCE_SECONDS)
    _wait_for_coordinator(address)
    seen: Seen = {}
    for name, ask in PROBES.items():
        asker = Asker(address, release, f"group-{name}", [])
        try:
            seen[name] = ask(asker)
        except Exception as error:
            seen[name] = repr(error)
        for connection in asker.connections:
            connection.close()
    return seen


def _wait_for_coordinator(address: str) -> None:
    connection = Connection(address)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while commit(connection, "first") != [0, 3]:
        connection.call(FindCoordinatorRequest(key="first"), 2)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    connection.close()


@pytest.mark.parametrize("name", PROBES)
def test_the_answers_are_the_same(name: str, pair: Pair) -> None:
    assert pair.ours[name] == pair.kafka[name]
