"""A group coordinator on real logs and a clock that stands still, and members to drive it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.groups.commits import Committer
from barnabas.server.groups.coordinator import GroupCoordinator
from barnabas.server.groups.group import Group
from barnabas.server.groups.joining import JoinAttempt
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.observing.logs import Logs
from barnabas.server.settings.config import load_config
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.server.coordinators.world import CoordinatorWorld

TOPICS = {"orders": 3, "audit": 2}
SESSION_MS, REBALANCE_MS = 10_000, 60_000
SUBSCRIBED_TO_ORDERS = bytes.fromhex("0000 00000001 0006") + b"orders" + bytes.fromhex("ffffffff")


class World(CoordinatorWorld):
    """One coordinator; partitions of __consumer_offsets are led by broker 0 from the start."""

    def __init__(
        self, directory: Path, settings: Mapping[str, object] | None = None, partitions: int = 1
    ) -> None:
        super().__init__(directory, OFFSETS_TOPIC, partitions)
        chosen = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": partitions}
        self.config = load_config((), {**chosen, **(settings or {})})
        self.groups = GroupCoordinator(
            self.config, self.clock, self.metadata, self.produces, self.fetches, self.disks.flush,
            Logs("error").room("groups"),
        )  # fmt: skip
        for name, count in TOPICS.items():
            self.add_topic(name, count)
        self.lead_all(self.groups.shards, self.groups.leadership)
        self.groups.start()

    def close(self) -> None:
        """Stop the coordinator, close the logs."""
        self.loop.run_until_complete(self.groups.stop())
        super().close()

    def group(self, group_id: str = "g") -> Group:
        """A group that exists."""
        found = self.groups.describe(group_id)
        assert found is not None
        return found

    def commit(
        self, offset: int, committer: Committer | None = None, **where: str | int
    ) -> ErrorCode:
        """Commit one offset; the error."""
        key = (str(where.get("topic", "orders")), int(where.get("partition", 0)))
        answers: list[ErrorCode] = []
        committed = CommittedOffset(offset, commit_timestamp_ms=self.clock.now_ms())
        group_id = str(where.get("group", "g"))
        try:
            self.groups.commit(group_id, committer or Committer(), {key: committed}, answers.append)
        except ApiError as error:
            return error.code
        return answers[0]

    def committed(self, topic: str = "orders", partition: int = 0, group: str = "g") -> int:
        """The committed offset, -1 for none."""
        found = self.groups.find_for_offsets(group)
        committed = found.offsets.get(topic, partition) if found else None
        return -1 if committed is None else committed.offset


@dataclass
class Client:
    """A member as it sees itself: what it was told last."""

    world: World
    group_id: str = "g"
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    version: int = 9
    protocols: tuple[tuple[str, bytes], ...] = (("range", SUBSCRIBED_TO_ORDERS),)
    protocol_type: str = "consumer"
    session_ms: int = SESSION_MS
    rebalance_ms: int = REBALANCE_MS
    joined: JoinGroupResponse | None = None
    synced: SyncGroupResponse | None = None
    answers: list[str] = field(default_factory=list)

    def join(self, *, follow: bool = True) -> ErrorCode | None:
        """Join; the error, NONE, or None while the answer is awaited.

        When it is sent back with a member id it joins with that at once, as every client does.
        """
        self.joined = None
        deferred: Deferred[JoinGroupResponse] = Deferred()
        attempt = JoinAttempt(
            group_id=self.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            client_id="client",
            client_host="/127.0.0.1",
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            protocol_type=self.protocol_type,
            protocols=self.protocols,
            must_know_member_id=self.version >= 4 and self.instance_id is None,
            may_skip_assignment=self.version >= 9,
            deferred=deferred,
        )
        try:
            answer = self.world.groups.join(attempt)
        except ApiError as error:
            return error.code
        if isinstance(answer, Deferred):
            answer.then(lambda given: self._told(given.answer()))
        else:
            self._told(answer)
        sent_back = self.joined and self.joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
        if sent_back and follow:
            return self.join()
        return None if self.joined is None else ErrorCode(self.joined.error_code)

    def _told(self, response: JoinGroupResponse) -> None:
        self.joined = response
        self.answers.append(f"join {ErrorCode(response.error_code).name}")
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = response.member_id
        if response.error_code == ErrorCode.NONE:
            self.generation, self.synced = response.generation_id, None

    @property
    def leads(self) -> bool:
        """Whether it was told that it leads."""
        return self.joined is not None and self.joined.leader == self.member_id

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> ErrorCode | None:
        """Sync; the error, NONE, or None while the answer is awaited."""
        self.synced = None
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        try:
            answer = self.world.groups.sync(request)
        except ApiError as error:
            return error.code
        if isinstance(answer, Deferred):
            answer.then(lambda given: self._assigned(given.answer()))
        else:
            self._assigned(answer)
        return None if self.synced is None else ErrorCode(self.synced.error_code)

    def _assigned(self, response: SyncGroupResponse) -> None:
        self.synced = response
        self.answers.append(f"sync {ErrorCode(response.error_code).name}")

    def heartbeat(self) -> ErrorCode:
        """Send a heartbeat; the error."""
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        try:
            self.world.groups.heartbeat(request)
        except ApiError as error:
            return error.code
        return ErrorCode.NONE

    def leave(self) -> ErrorCode:
        """Leave; the error."""
        try:
            self.world.groups.leave(self.group_id, self.member_id, self.instance_id)
        except ApiError as error:
            return error.code
        return ErrorCode.NONE

    @property
    def committer(self) -> Committer:
        """Who commits for it."""
        return Committer(self.generation, self.member_id, self.instance_id)


def stable(world: World, *clients: Client) -> None:
    """Have the clients make a group that is new into one stable generation."""
    for client in clients:
        client.join()
    world.clock.advance(0)
    leader = next(client for client in clients if client.leads)
    for client in sorted(clients, key=lambda each: each.leads):
        client.sync({each.member_id: each.member_id.encode() for each in clients})
    assert leader.synced is not None
