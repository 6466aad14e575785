"""Requests about groups, in the few words that tests want to spend on them."""

from typing import Any, Protocol, Self

from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest
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
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until

JOIN_TIMEOUT_S = 60.0
SUBSCRIPTION = bytes.fromhex("0000 00000001 0006") + b"orders" + bytes.fromhex("ffffffff")


class HasPort(Protocol):
    """A broker, as far as members are concerned."""

    @property
    def port(self) -> int:
        """Where it listens."""


class Member(RawClient):
    """A connection that is a member of a group; options go into its JoinGroup."""

    def __init__(
        self, broker: HasPort, group: str, instance_id: str | None = None, **options: Any
    ) -> None:
        super().__init__(broker.port, "probe", JOIN_TIMEOUT_S)
        self.group, self.instance_id, self.options = group, instance_id, options
        self.member_id, self.generation = "", -1

    def join_request(self, **changes: Any) -> JoinGroupRequest:
        """What it joins with."""
        values: dict[str, Any] = {
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
            **self.options,
            **changes,
        }
        return JoinGroupRequest(
            group_id=self.group,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            **values,
        )

    def take(self, response: Any) -> Any:
        """Remember what a JoinGroup answered."""
        if response.member_id:
            self.member_id = response.member_id
        self.generation = response.generation_id
        return response

    def join(self, version: int = 9, **changes: Any) -> Any:
        """Join and wait for the answer, following MEMBER_ID_REQUIRED."""
        response = self.take(self.call(self.join_request(**changes), version))
        if response.error_code == 79:
            response = self.take(self.call(self.join_request(**changes), version))
        return response

    def ask_in(self, inside: "Member") -> None:
        """Send a JoinGroup that has to wait for `inside`; returns once that was told to rejoin."""
        self.take(self.call(self.join_request(), 9))
        self.send(self.join_request(), 9)
        wait_until(lambda: inside.heartbeat() != 0)

    def sync_request(self, version: int = 5, /, **assignments: bytes) -> SyncGroupRequest:
        """A SyncGroup of its generation; assignments by member id."""
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=key, assignment=value)
                for key, value in assignments.items()
            ],
        )
        if version >= 5:
            request.protocol_type = self.options.get("protocol_type", "consumer")
            request.protocol_name = "range"
        return request

    def sync(self, version: int = 5, /, **assignments: bytes) -> Any:
        """Sync and wait for the answer."""
        return self.call(self.sync_request(version, **assignments), version)

    def heartbeat(self, version: int = 4, **changes: Any) -> int:
        """Send a heartbeat; the error code."""
        values: dict[str, Any] = {
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id if version >= 3 else None,
            **changes,
        }
        request = HeartbeatRequest(group_id=self.group, **values)
        return int(self.call(request, version).error_code)

    def leave(self) -> int:
        """Leave; the error code."""
        request = LeaveGroupRequest(group_id=self.group, member_id=self.member_id)
        return int(self.call(request, 2).error_code)

    def settle(self) -> Self:
        """Join and sync as the only member."""
        assert self.join().error_code == 0
        assert self.sync(**{self.member_id: b"mine"}).error_code == 0
        return self


def find_coordinator(client: RawClient, group: str) -> None:
    """What every client does first: it brings `__consumer_offsets` into being."""
    answer = client.call(FindCoordinatorRequest(key=group), 3)
    assert answer.error_code == 0


def commit_request(group: str, topic: str, *offsets: int, **options: Any) -> OffsetCommitRequest:
    """A commit of one offset each for partitions 0, 1, ...; options: who, text, epoch."""
    text, epoch = options.pop("text", ""), options.pop("epoch", -1)
    return OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        committed_metadata=text,
                    )
                    for index, offset in enumerate(offsets)
                ],
            )
        ],
        **options,
    )


def commit(
    client: RawClient, group: str, topic: str, *offsets: int, version: int = 8, **options: Any
) -> list[int]:
    """Commit; the error code of each partition."""
    response = client.call(commit_request(group, topic, *offsets, **options), version)
    return [partition.error_code for partition in response.topics[0].partitions]


def fetch_request(
    group: str, version: int, topic: str | None, *partitions: int, stable: bool = False
) -> OffsetFetchRequest:
    """A question for a group's offsets; of all topics if `topic` is None."""
    if version >= 8:
        asked = [OffsetFetchRequestTopics(name=topic or "", partition_indexes=list(partitions))]
        return OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id=group, topics=None if topic is None else asked)
            ],
            require_stable=stable,
        )
    old = [OffsetFetchRequestTopic(name=topic or "", partition_indexes=list(partitions))]
    return OffsetFetchRequest(group_id=group, topics=None if topic is None else old)


def offsets(
    client: RawClient, group: str, topic: str | None, *partitions: int, version: int = 8
) -> dict[tuple[str, int], tuple[int, str | None, int]]:
    """Offset, metadata and error code of each partition."""
    response = client.call(fetch_request(group, version, topic, *partitions), version)
    topics = response.groups[0].topics if version >= 8 else response.topics
    return {
        (each.name, p.partition_index): (p.committed_offset, p.metadata, p.error_code)
        for each in topics
        for p in each.partitions
    }
