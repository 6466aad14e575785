"""The group coordinator's front: finds the group of a request and hands it on.

Requests of a group are answered by the broker that leads its partition of
__consumer_offsets, once that is loaded. Everything here runs on the broker's loop.
"""

from __future__ import annotations  # what the types name is imported when it is needed

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.coordinators.leadership import Leadership
from barnabas.server.coordinators.shards import Shards
from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.observe import GroupCounts
from barnabas.server.groups.shard import GroupShard, offsets_topic
from barnabas.server.observing.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.coordinators.writer import Flush
    from barnabas.server.core.topic_names import TopicPartition
    from barnabas.server.groups import joining, syncing
    from barnabas.server.groups.commits import Committer, TransactionOf
    from barnabas.server.groups.group import Group
    from barnabas.server.groups.joining import JoinAttempt
    from barnabas.server.groups.offsets import Commits
    from barnabas.server.groups.services import Services
    from barnabas.wire.messages.heartbeat import HeartbeatRequest
    from barnabas.wire.messages.sync_group import SyncGroupRequest


class GroupCoordinator:
    """All groups of this broker."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        metadata: ClusterMetadata,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
        log: Log,
    ) -> None:
        self._config = config
        self._clock = clock
        self.counts = GroupCounts()
        topic = offsets_topic(config)
        self._parts = (topic, config, clock, produces, fetches, flush, self.counts, log)
        self.shards: Shards[GroupShard] = Shards(topic, metadata)
        self.leadership = Leadership(topic, self.shards, self._make_shard, clock, produces, log)
        self._check_timer: Timer | None = None

    @cached_property
    def _services(self) -> Services:
        from barnabas.server.groups.services import Services

        return Services(*self._parts)

    def _make_shard(self, partition: Partition) -> GroupShard:
        return GroupShard(partition, lambda: self._services)

    def expect_members(self) -> None:
        """Somebody asks for a coordinator, and will come back for more: be ready by then."""
        if "_services" not in self.__dict__:
            self._clock.call_later(0, lambda: self._services)

    def start(self) -> None:
        """Begin to check for expired offsets."""
        self._check_timer = self._clock.call_later(
            self._config.offsets_retention_check_interval_ms, self._check_expiry, coalesces=True
        )

    async def stop(self) -> None:
        """Stop loading and every timer; parked requests stay with their connections."""
        await self.leadership.stop()
        if self._check_timer is not None:
            self._check_timer.cancel()
        if "_services" in self.__dict__:
            self._services.stop(self.all_groups())

    def _check_expiry(self) -> None:
        self.start()
        if next(self.all_groups(), None) is not None:
            self._services.removal.expire_all(self.all_groups)

    def partition_of(self, group_id: str) -> int:
        """The partition of __consumer_offsets that the group belongs to."""
        return self.shards.partition_of(group_id)

    def all_groups(self) -> Iterator[Group]:
        """Every group of every loaded shard."""
        for shard in self.shards.active():
            yield from tuple(shard.groups.values())

    # Members.

    def join(self, attempt: JoinAttempt) -> joining.Answer:
        """Serve a JoinGroup. Raises ApiError."""
        shard = self._shard(_named(attempt.group_id))
        limits = self._config
        if not (
            limits.group_min_session_timeout_ms
            <= attempt.session_timeout_ms
            <= limits.group_max_session_timeout_ms
        ):
            raise ApiError(ErrorCode.INVALID_SESSION_TIMEOUT)
        group = shard.groups.get(attempt.group_id)
        if group is None:
            if attempt.member_id:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            group = self._create(shard, attempt.group_id)
        return self._services.joining.join(group, attempt)

    def sync(self, request: SyncGroupRequest) -> syncing.Answer:
        """Serve a SyncGroup. Raises ApiError."""
        try:
            shard = self._shard(_named(request.group_id))
        except ApiError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # What is being synced is not in the log: the member has to join again.
                raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS) from None
            raise
        return self._services.syncing.sync(_member_group(shard, request.group_id), request)

    def heartbeat(self, request: HeartbeatRequest) -> None:
        """Serve a Heartbeat. Raises ApiError; while loading, all is well."""
        try:
            shard = self._shard(_named(request.group_id))
        except ApiError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return
            raise
        group = _member_group(shard, request.group_id)
        self._services.syncing.heartbeat(
            group, request.generation_id, request.member_id, request.group_instance_id
        )

    def leave(self, group_id: str, member_id: str, instance_id: str | None) -> None:
        """Take one member out of a group. Raises ApiError."""
        shard = self._shard(_named(group_id))
        self._services.syncing.leave(_member_group(shard, group_id), member_id, instance_id)

    # Offsets.

    def commit(
        self,
        group_id: str,
        committer: Committer,
        commits: Commits,
        done: Callable[[ErrorCode], object],
    ) -> None:
        """Store offsets; `done` is told when they are safe. Raises ApiError."""
        group = self._group_to_commit(group_id, committer)
        self._services.committing.commit(group, committer, commits, done)

    def commit_in_transaction(
        self,
        group_id: str,
        committer: Committer,
        transaction: TransactionOf,
        commits: Commits,
        done: Callable[[ErrorCode], object],
    ) -> None:
        """Store offsets that take effect when the transaction commits. Raises ApiError."""
        group = self._group_to_commit(_named(group_id), committer)
        self._services.committing.commit_in_transaction(
            group, committer, transaction, commits, done
        )

    def partition_for_offsets(self, group_id: str) -> Partition:
        """The partition that the group's offsets are written to. Raises ApiError."""
        return self._shard(_named(group_id)).partition

    def end_transaction(self, producer_id: int, partitions: Iterable[int], is_commit: bool) -> None:
        """A marker was written to these partitions of __consumer_offsets."""
        for index in partitions:
            shard = self.shards.find(index)
            if shard is not None and shard.is_replayed:
                shard.end_transaction(producer_id, is_commit)

    def find_for_offsets(self, group_id: str) -> Group | None:
        """The group whose offsets are asked for; None if nothing is known. Raises ApiError."""
        return self._shard(group_id).groups.get(group_id)

    def delete_offsets(
        self, group_id: str, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Delete committed offsets of topics that nobody in the group reads.

        Raises ApiError GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP for members that are no consumers.
        """
        group = self._existing(_named(group_id))
        return self._services.removal.delete_offsets(group, partitions)

    def topics_deleted(self, names: Iterable[str]) -> None:
        """Offsets of a deleted topic mean nothing any more; those still to be loaded neither."""
        names = tuple(names)
        for shard in self.shards:
            if not shard.is_active:
                shard.deleted_topics.update(names)
        for group in self.all_groups():
            self._services.removal.remove_topics(group, names)

    # Administration.

    def describe(self, group_id: str) -> Group | None:
        """The group, or None if there is none of that name. Raises ApiError."""
        return self._shard(group_id).groups.get(group_id)

    def delete_group(self, group_id: str) -> None:
        """Delete a group without members, offsets and all. Raises ApiError."""
        self._services.removal.delete_group(self._existing(group_id))

    # Looking up.

    def _shard(self, group_id: str) -> GroupShard:
        return self.shards.of(group_id)

    def _existing(self, group_id: str) -> Group:
        group = self._shard(group_id).groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        return group

    def _group_to_commit(self, group_id: str, committer: Committer) -> Group:
        """The group, made for who needs no generation. Raises ApiError."""
        shard = self._shard(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            if committer.generation >= 0:
                raise ApiError(ErrorCode.ILLEGAL_GENERATION)
            group = self._create(shard, group_id)
        return group

    def _create(self, shard: GroupShard, group_id: str) -> Group:
        group = self._services.new_group(group_id, shard)
        shard.groups[group_id] = group
        return group


def _named(group_id: str) -> str:
    """Members need a group with a name; offsets may be kept without one, as before 0.9."""
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    return group_id


def _member_group(shard: GroupShard, group_id: str) -> Group:
    group = shard.groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    return group
