"""The group coordinator's front: finds the group of a request and hands it on.

Requests of a group are answered by the broker that leads its partition of
__consumer_offsets, once that is loaded. Everything here runs on the broker's loop.
"""

import asyncio
from collections.abc import Callable, Iterable

from barnabas.server.clock import Clock, Timer
from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.config import BrokerConfig
from barnabas.server.delayed import Delayed
from barnabas.server.errors import ApiError
from barnabas.server.groups import joining, loading, syncing
from barnabas.server.groups.cleanup import Cleanup
from barnabas.server.groups.commits import Committer, Committing
from barnabas.server.groups.group import Group
from barnabas.server.groups.joining import JoinAttempt, Joining
from barnabas.server.groups.offsets import Commits, TopicPartition
from barnabas.server.groups.partitioning import OFFSETS_TOPIC, partition_for
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.responses import join_refused, sync_refused
from barnabas.server.groups.shards import Shard, Shards
from barnabas.server.groups.states import GroupEvent, GroupState
from barnabas.server.groups.syncing import Syncing
from barnabas.server.groups.writer import Flush, Writer
from barnabas.server.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.storage.errors import StorageError
from barnabas.wire.error_codes import ErrorCode
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
        self._metadata = metadata
        self._log = log
        writer = Writer(config, clock, produces, fetches, flush)
        self._rebalance = Rebalance(config, clock, writer, log)
        self._joining = Joining(config, self._rebalance, writer)
        self._syncing = Syncing(clock, self._rebalance, writer)
        self._committing = Committing(self._rebalance.sessions, writer)
        self._cleanup = Cleanup(config, clock, self._rebalance, writer, log)
        self.shards = Shards()
        self._to_load: asyncio.Queue[Shard] = asyncio.Queue()
        self._loader: asyncio.Task[None] | None = None
        self._check_timer: Timer | None = None

    def start(self) -> None:
        """Begin to check for expired offsets."""
        self._check_timer = self._clock.call_later(
            self._config.offsets_retention_check_interval_ms, self._check_expiry
        )

    async def stop(self) -> None:
        """Stop loading and every timer; parked requests stay with their connections."""
        if self._loader is not None:
            self._loader.cancel()
            await asyncio.gather(self._loader, return_exceptions=True)
            self._loader = None
        if self._check_timer is not None:
            self._check_timer.cancel()
        for group in self.shards.groups():
            self._rebalance.stop(group)

    # Leadership.

    @property
    def partition_count(self) -> int:
        """Partitions of __consumer_offsets: as many as it has, or would get."""
        topic = self._metadata.topics.get(OFFSETS_TOPIC)
        return len(topic.partitions) if topic else self._config.offsets_topic_num_partitions

    def partition_of(self, group_id: str) -> int:
        """The partition of __consumer_offsets that the group belongs to."""
        return partition_for(group_id, self.partition_count)

    def elected(self, partition: Partition) -> None:
        """This broker leads a partition of __consumer_offsets: load it."""
        known = self.shards.find(partition.index)
        if known is not None and known.leader_epoch >= partition.leader_epoch:
            return
        if known is not None:
            self.resigned(partition.index)
        shard = Shard(partition.index, partition.leader_epoch, partition)
        self.shards.put(shard)
        if partition.log.log_start_offset == partition.log.log_end_offset:
            shard.is_active = True
            return
        self._to_load.put_nowait(shard)
        if self._loader is None:
            self._loader = asyncio.get_running_loop().create_task(self._load_all())

    def resigned(self, index: int) -> None:
        """Another broker leads the partition: forget its groups, send their members away."""
        shard = self.shards.pop(index)
        if shard is None:
            return
        for group in shard.groups.values():
            self._rebalance.stop(group)
            group.move(GroupEvent.REMOVED, self._clock.now_ms())
            for member in group.members.by_id.values():
                member.answer_join(join_refused(member.member_id, ErrorCode.NOT_COORDINATOR))
                member.answer_sync(sync_refused(ErrorCode.NOT_COORDINATOR))

    def resigned_all(self) -> None:
        """Nothing is led here any more."""
        for shard in self.shards:
            self.resigned(shard.index)

    async def _load_all(self) -> None:
        while True:
            shard = await self._to_load.get()
            if not shard.is_gone:
                await self._load(shard)

    async def _load(self, shard: Shard) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            replay = await loading.load(shard, self._config.offsets_load_buffer_size)
        except (StorageError, OSError) as error:
            self._log.error("groups cannot be loaded", partition=shard.index, error=error)
            replay = loading.Replay()
        if shard.is_gone:
            return
        for group in loading.install(shard, replay):
            self._loaded(group)
        shard.is_active = True
        if replay.unknown_types or replay.malformed:
            self._log.warn(
                "records were skipped", partition=shard.index, malformed=replay.malformed,
                types=",".join(map(str, sorted(replay.unknown_types))),
            )  # fmt: skip
        self._log.info(
            "groups loaded", partition=shard.index, groups=len(shard.groups),
            ms=round(self._clock.monotonic_ms() - started_ms),
        )  # fmt: skip

    def _loaded(self, group: Group) -> None:
        """Members have their session timeout to come back."""
        for member in group.members.by_id.values():
            self._rebalance.sessions.beat(group, member)
        if len(group.members) > self._config.group_max_size:
            self._rebalance.prepare(group, "the loaded group is over its size")

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
        return self._joining.join(group, attempt)

    def sync(self, request: SyncGroupRequest) -> syncing.Answer:
        """Serve a SyncGroup. Raises ApiError."""
        try:
            shard = self._shard(_named(request.group_id))
        except ApiError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # What is being synced is not in the log: the member has to join again.
                raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS) from None
            raise
        return self._syncing.sync(_member_group(shard, request.group_id), request)

    def heartbeat(self, request: HeartbeatRequest) -> None:
        """Serve a Heartbeat. Raises ApiError; while loading, all is well."""
        try:
            shard = self._shard(_named(request.group_id))
        except ApiError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return
            raise
        group = _member_group(shard, request.group_id)
        self._syncing.heartbeat(
            group, request.generation_id, request.member_id, request.group_instance_id
        )

    def leave(self, group_id: str, member_id: str, instance_id: str | None) -> None:
        """Take one member out of a group. Raises ApiError."""
        shard = self._shard(_named(group_id))
        self._syncing.leave(_member_group(shard, group_id), member_id, instance_id)

    # Offsets.

    def commit(
        self,
        group_id: str,
        committer: Committer,
        commits: Commits,
        done: Callable[[ErrorCode], object],
    ) -> None:
        """Store offsets; `done` is told when they are safe. Raises ApiError."""
        shard = self._shard(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            if committer.generation >= 0:
                raise ApiError(ErrorCode.ILLEGAL_GENERATION)
            group = self._create(shard, group_id)
        self._committing.commit(group, committer, commits, done)

    def commit_in_transaction(
        self,
        group_id: str,
        committer: Committer,
        producer_id: int,
        producer_epoch: int,
        commits: Commits,
        done: Callable[[ErrorCode], object],
    ) -> None:
        """Store offsets that take effect when the transaction commits. Raises ApiError."""
        shard = self._shard(_named(group_id))
        group = shard.groups.get(group_id) or self._create(shard, group_id)
        self._committing.commit_in_transaction(
            group, committer, producer_id, producer_epoch, commits, done
        )

    def end_transaction(self, producer_id: int, partitions: Iterable[int], is_commit: bool) -> None:
        """A marker was written to these partitions of __consumer_offsets."""
        for index in partitions:
            shard = self.shards.find(index)
            if shard is not None and shard.is_active:
                for group_id in shard.open_transactions.pop(producer_id, ()):
                    group = shard.groups.get(group_id)
                    if group is not None:
                        group.offsets.end_transaction(producer_id, is_commit)

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
        if group.state is not GroupState.EMPTY and group.subscribed_topics() is None:
            if group.protocol_type != "consumer":
                raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        results = {}
        for topic, partition in partitions:
            in_use = group.state is not GroupState.EMPTY and group.is_subscribed_to(topic)
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if in_use else ErrorCode.NONE
            results[topic, partition] = code
        free = [key for key, code in results.items() if code is ErrorCode.NONE]
        self._cleanup.remove_offsets(group, free)
        return results

    def topics_deleted(self, names: Iterable[str]) -> None:
        """Offsets of a deleted topic mean nothing any more."""
        for group in self.shards.groups():
            for name in names:
                partitions = group.offsets.partitions_of(name)
                if partitions:
                    self._cleanup.remove_offsets(group, partitions)

    # Administration.

    def describe(self, group_id: str) -> Group | None:
        """The group, or None if there is none of that name. Raises ApiError."""
        return self._shard(group_id).groups.get(group_id)

    def delete_group(self, group_id: str) -> None:
        """Delete a group without members, offsets and all. Raises ApiError."""
        group = self._existing(group_id)
        if group.state is not GroupState.EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        self._cleanup.delete_group(group)

    def _check_expiry(self) -> None:
        self._cleanup.expire(self.shards.groups())
        self.start()

    # Looking up.

    def _shard(self, group_id: str) -> Shard:
        return self.shards.require(self.partition_of(group_id))

    def _existing(self, group_id: str) -> Group:
        group = self._shard(group_id).groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        return group

    def _create(self, shard: Shard, group_id: str) -> Group:
        group = shard.groups[group_id] = Group(group_id, shard, self._clock.now_ms())
        return group


def _named(group_id: str) -> str:
    """Members need a group with a name; offsets may be kept without one, as before 0.9."""
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    return group_id


def _member_group(shard: Shard, group_id: str) -> Group:
    group = shard.groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    return group
