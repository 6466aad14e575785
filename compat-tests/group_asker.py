"""A broker that is asked about groups, over plain connections: for `group_probes.py`."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from barnabas.wire.connection import ClientConnection
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.schema import Message

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
