"""Removing offsets and groups: what has expired, what is deleted; tombstones, then nothing.

A tombstone that is lost does no harm: the next check or deletion writes it again. So nobody
waits for its replication.

Which committed offsets have outlived their use (KIP-211) is decided by `expired_offsets`.
`offsets.retention.minutes` counts

* for a group whose members are gone: from the moment it became Empty (records too old to say
  when: from each commit);
* for a group with consumers: from each commit, and only for topics that nobody in the group
  subscribes to;
* for a group that never had members: from each commit.

An offset committed with a retention of its own (OffsetCommit v2-v4) expires by that instead.
None expires while a newer one is on its way or in an open transaction: its tombstone would stand
behind that one and take it along.
"""

import time
from collections.abc import Callable, Iterable, Iterator

from barnabas.server.coordinators.writer import KeyAndValue, Writer
from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.groups.group import CONSUMER, Group, GroupEvent, GroupState
from barnabas.server.groups.observe import GroupCounts
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.records import encode_group_key, encode_offset_key
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode

MINUTE_MS = 60_000
SLICE_MS = 4.0
RELEASE_OF_TOMBSTONES = 4
RELEASE_THAT_KEEPS_GROUPS = 4


class Removal:
    """Takes offsets and whole groups away."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        rebalance: Rebalance,
        writer: Writer,
        counts: GroupCounts,
        log: Log,
    ) -> None:
        self._counts = counts
        self._config = config
        self._clock = clock
        self._rebalance = rebalance
        self._writer = writer
        self._log = log
        self._slice_timer: Timer | None = None

    def expire_all(self, groups: Callable[[], Iterator[Group]]) -> None:
        """Remove what has expired from all groups, unless that is still being done."""
        if self._slice_timer is None:
            self._expire_some(groups())

    def _expire_some(self, groups: Iterator[Group]) -> None:
        """Look at groups for a few milliseconds, then let others run, until all were seen."""
        self._slice_timer = None
        slice_ends_ms = time.monotonic() * 1000 + SLICE_MS
        for group in groups:
            try:
                self.expire(group)
            except Exception as error:  # the groups after it are looked at all the same
                self._log.unexpected("a group cannot expire", error, group=group.group_id)
            if time.monotonic() * 1000 > slice_ends_ms:
                self._slice_timer = self._clock.call_later(1, lambda: self._expire_some(groups))
                return

    def stop(self) -> None:
        """Look at no more groups."""
        if self._slice_timer is not None:
            self._slice_timer.cancel()

    def expire(self, group: Group) -> None:
        """Remove what has expired, and the group if nothing is left of it."""
        if group.is_dead:
            return
        retention_ms = self._config.offsets_retention_minutes * MINUTE_MS
        expired = expired_offsets(group, self._clock.now_ms(), retention_ms)
        if expired:
            self._counts.offset_expiration_count += len(expired)
            self._log.info("offsets expired", group=group.group_id, offsets=len(expired))
        if expired or is_forgettable(group):
            self._remove_offsets(group, expired, forgets=True)

    def delete_offsets(
        self, group: Group, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Delete offsets that nobody in the group needs; an error for each of the others.

        Raises ApiError NON_EMPTY_GROUP for members that are no consumers: what they read
        cannot be known.
        """
        has_members = group.state is not GroupState.EMPTY
        if has_members and group.protocol_type != CONSUMER:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        results = dict.fromkeys(partitions, ErrorCode.NONE)
        for topic, partition in results:
            if has_members and group.is_subscribed_to(topic):
                results[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        free = [key for key, code in results.items() if code is ErrorCode.NONE]
        self._counts.offset_deletion_count += len(free)
        self.remove_offsets(group, free)
        return results

    def remove_offsets(self, group: Group, partitions: Iterable[TopicPartition]) -> None:
        """Remove offsets that are asked or known to be of no use any more.

        In 3.9 a group that nothing is left of goes with them, at once; 4.x lists it until it is
        deleted, or looked at for expiry.
        """
        forgets = self._config.release < RELEASE_THAT_KEEPS_GROUPS
        self._remove_offsets(group, partitions, forgets=forgets)

    def _remove_offsets(
        self, group: Group, partitions: Iterable[TopicPartition], *, forgets: bool
    ) -> None:
        tombstones: list[KeyAndValue] = [
            (encode_offset_key(group.group_id, topic, partition), None)
            for topic, partition in partitions
            if group.offsets.remove(topic, partition)
        ]
        if forgets and is_forgettable(group):
            tombstones += self._forget(group)
        self._write(group, tombstones)

    def remove_topics(self, group: Group, names: Iterable[str]) -> None:
        """Remove the offsets of topics that are deleted."""
        for name in names:
            partitions = group.offsets.partitions_of(name)
            if partitions:
                self.remove_offsets(group, partitions)

    def delete_group(self, group: Group) -> None:
        """Remove a group and all its offsets. Raises ApiError NON_EMPTY_GROUP.

        Those of open transactions too, as in 4.x: without their tombstones a commit would do
        nothing here, and bring the group back with the next start.
        """
        if group.state is not GroupState.EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        self._counts.offset_deletion_count += len(group.offsets)
        tombstones: list[KeyAndValue] = [
            (encode_offset_key(group.group_id, topic, partition), None)
            for topic, partition in group.offsets.all_partitions()
            if group.offsets.remove(topic, partition)
        ]
        tombstones += self._forget(group)
        self._write(group, tombstones)

    def _forget(self, group: Group) -> list[KeyAndValue]:
        """Take a group out of its shard.

        One that never had members has no record to delete, and 3.9 writes no tombstone for it;
        4.x does, since a 4.x that reads its offsets takes it for a group.
        """
        self._rebalance.stop(group)
        group.move(GroupEvent.REMOVED, self._clock.now_ms())
        group.shard.groups.pop(group.group_id, None)
        if group.generation == 0 and self._config.release < RELEASE_OF_TOMBSTONES:
            return []
        return [(encode_group_key(group.group_id), None)]

    def _write(self, group: Group, tombstones: list[KeyAndValue]) -> None:
        def written(error: ErrorCode, _: int) -> None:
            if error is not ErrorCode.NONE:
                self._log.warn("tombstones not stored", group=group.group_id, error=error.name)

        if tombstones:
            self._writer.append(group.shard, tombstones, written)


def expired_offsets(group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The offsets of a group that have expired."""
    if group.protocol_type is not None:
        if group.state is GroupState.EMPTY:
            return _expired(group, now_ms, retention_ms, group.state_timestamp_ms)
        if group.state is not GroupState.STABLE or group.protocol_type != CONSUMER:
            return []
    return _expired(group, now_ms, retention_ms, None)


def is_forgettable(group: Group) -> bool:
    """Whether nothing would be lost with the group."""
    return group.state is GroupState.EMPTY and group.offsets.is_empty and not group.members.pending


def _expired(
    group: Group, now_ms: int, retention_ms: int, since_ms: int | None
) -> list[TopicPartition]:
    has_members = bool(group.members.by_id)
    return [
        (topic, partition)
        for topic, partition, committed in group.offsets
        if _is_over(committed, now_ms, retention_ms, since_ms)
        and not group.offsets.is_unstable(topic, partition)
        and not (has_members and group.is_subscribed_to(topic))
    ]


def _is_over(
    committed: CommittedOffset, now_ms: int, retention_ms: int, since_ms: int | None
) -> bool:
    if committed.expire_timestamp_ms is not None:
        return now_ms >= committed.expire_timestamp_ms
    start_ms = committed.commit_timestamp_ms if since_ms is None else since_ms
    return now_ms - start_ms >= retention_ms
