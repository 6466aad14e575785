"""Removing offsets and groups: tombstones in the log, then nothing.

A tombstone that is lost does no harm: the next check or deletion writes it again. So nobody
waits for its replication.
"""

from collections.abc import Iterable

from barnabas.server.clock import Clock
from barnabas.server.config import BrokerConfig
from barnabas.server.groups.expiry import expired_offsets, is_forgettable
from barnabas.server.groups.group import Group
from barnabas.server.groups.offsets import TopicPartition
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.records import encode_group_key, encode_offset_key
from barnabas.server.groups.states import GroupEvent
from barnabas.server.groups.writer import KeyAndValue, Writer
from barnabas.server.logs import Log
from barnabas.wire.error_codes import ErrorCode

MINUTE_MS = 60_000


class Cleanup:
    """Takes offsets and whole groups away."""

    def __init__(
        self, config: BrokerConfig, clock: Clock, rebalance: Rebalance, writer: Writer, log: Log
    ) -> None:
        self._config = config
        self._clock = clock
        self._rebalance = rebalance
        self._writer = writer
        self._log = log
        self.expired_count = 0
        self.deleted_count = 0

    def expire(self, groups: Iterable[Group]) -> None:
        """Remove what has expired, and groups that nothing is left of."""
        now_ms = self._clock.now_ms()
        retention_ms = self._config.offsets_retention_minutes * MINUTE_MS
        for group in groups:
            expired = expired_offsets(group, now_ms, retention_ms)
            if expired or is_forgettable(group):
                self.expired_count += len(expired)
                self._log.info("offsets expired", group=group.group_id, offsets=len(expired))
                self.remove_offsets(group, expired)

    def remove_offsets(self, group: Group, partitions: Iterable[TopicPartition]) -> None:
        """Remove offsets; a group that nothing is left of goes with them."""
        tombstones: list[KeyAndValue] = [
            (encode_offset_key(group.group_id, topic, partition), None)
            for topic, partition in partitions
            if group.offsets.remove(topic, partition)
        ]
        if is_forgettable(group):
            tombstones += self._forget(group)
        self._write(group, tombstones)

    def delete_group(self, group: Group) -> None:
        """Remove an Empty group and all its offsets."""
        keys = [(topic, partition) for topic, partition, _ in group.offsets]
        self.deleted_count += len(keys)
        tombstones: list[KeyAndValue] = [
            (encode_offset_key(group.group_id, topic, partition), None) for topic, partition in keys
        ]
        tombstones += self._forget(group)
        self._write(group, tombstones)

    def _forget(self, group: Group) -> list[KeyAndValue]:
        """Take a group out of its shard. One that never had members has no record to delete."""
        self._rebalance.stop(group)
        group.move(GroupEvent.REMOVED, self._clock.now_ms())
        group.shard.groups.pop(group.group_id, None)
        if group.generation == 0:
            return []
        return [(encode_group_key(group.group_id), None)]

    def _write(self, group: Group, tombstones: list[KeyAndValue]) -> None:
        def written(error: ErrorCode, _: int) -> None:
            if error is not ErrorCode.NONE:
                self._log.warn("tombstones not stored", group=group.group_id, error=error.name)

        if tombstones:
            self._writer.append(group.shard, tombstones, written)
