"""A broker that is asked about groups, over plain connections: for `group_probes.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.server import group_requests
from tests.server.raw_client import RawClient

PATIENCE_SECONDS = 60.0
TIMEOUT_MS = 30_000
Seen = dict[str, Any]


@dataclass
class Asker:
    """A broker, and a group name that nobody has used."""

    port: int
    release: int
    group: str
    connections: list[RawClient] = field(default_factory=list)

    def connect(self) -> RawClient:
        """A connection of this asker's."""
        self.connections.append(RawClient(self.port, "probe", PATIENCE_SECONDS))
        return self.connections[-1]

    def member(self, instance_id: str | None = None, **options: Any) -> Member:
        """A member of the group, on a connection of its own."""
        timeouts = {"session_timeout_ms": TIMEOUT_MS, "rebalance_timeout_ms": TIMEOUT_MS}
        member = Member(self, self.group, instance_id, **(timeouts | options))
        self.connections.append(member)
        return member

    def close(self) -> None:
        """Close its connections."""
        for connection in self.connections:
            connection.sock.close()


class Member(group_requests.Member):
    """A member that is asked for what it should not send, too."""

    def sync_mine(self, version: int = 5, *, assigns: bool = True, **changes: Any) -> Any:
        """Sync with an assignment for itself, if any, and some fields changed."""
        mine = {self.member_id: b"mine"} if assigns else {}
        request = self.sync_request(version, **mine)
        for name, value in changes.items():
            setattr(request, name, value)
        return self.call(request, version)

    def commit(self, version: int = 8, **changes: Any) -> list[int]:
        """Commit as this member; the error codes."""
        who: dict[str, Any] = {
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }
        return commit(self, self.group, version, **(who | changes))


def commit(connection: RawClient, group: str, version: int = 8, **options: Any) -> list[int]:
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


def fetched(connection: RawClient, group: str, version: int, topic: str | None) -> Any:
    """The group's offsets, and errors at every place."""
    request = group_requests.fetch_request(group, version, topic, 0, 1)
    answer = connection.call(request, version)
    response = answer.groups[0] if version >= 8 else answer
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
