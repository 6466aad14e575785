"""What the records of a partition of __consumer_offsets amount to, and the groups made of it.

Later records win, tombstones remove, offsets of a transaction take effect at its commit marker.
"""

from dataclasses import dataclass, field

from barnabas.server.groups.group import Group, GroupState
from barnabas.server.groups.offsets import CommittedOffset, Offsets
from barnabas.server.groups.records import (
    GroupKey,
    MalformedRecord,
    OffsetKey,
    decode_group,
    decode_key,
    decode_offset,
    restore_members,
)
from barnabas.server.groups.shard import GroupShard
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.records import Record
from barnabas.wire.messages.group_metadata_value import GroupMetadataValue


@dataclass(slots=True)
class Replay:
    """What the records read so far amount to."""

    groups: dict[str, GroupMetadataValue] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    open_transactions: dict[int, set[str]] = field(default_factory=dict)
    unknown_types: set[int] = field(default_factory=set)
    malformed: int = 0

    def apply(self, record: Record, header: BatchHeader) -> None:
        """Take one record in."""
        try:
            key = decode_key(record.key)
            if isinstance(key, OffsetKey):
                self._apply_offset(key, record, header)
            elif isinstance(key, GroupKey):
                self._apply_group(key.group_id, record)
            else:
                self.unknown_types.add(key.record_type)
        except MalformedRecord:
            self.malformed += 1

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """A marker: the producer's offsets count, or never were.

        Of a group that was deleted meanwhile, as when its last topic was, nothing is left.
        """
        for group_id in self.open_transactions.pop(producer_id, ()):
            if group_id in self.offsets:
                self.offsets[group_id].end_transaction(producer_id, is_commit)

    def _apply_offset(self, key: OffsetKey, record: Record, header: BatchHeader) -> None:
        offsets = self.offsets.get(key.group_id)
        if offsets is None:
            offsets = self.offsets[key.group_id] = Offsets()
        where = (key.topic, key.partition)
        if record.value is None:
            if header.is_transactional:
                offsets.transactional.get(header.producer_id, {}).pop(where, None)
            else:
                offsets.remove(*where)
            return
        committed: CommittedOffset = decode_offset(record.value, header.base_offset)
        if header.is_transactional:
            offsets.add_transactional(header.producer_id, {where: committed})
            self.open_transactions.setdefault(header.producer_id, set()).add(key.group_id)
        else:
            offsets.put(*where, committed)

    def _apply_group(self, group_id: str, record: Record) -> None:
        if record.value is None:
            self.groups.pop(group_id, None)
            offsets = self.offsets.get(group_id)
            if offsets is not None and offsets.is_empty:
                del self.offsets[group_id]
        else:
            self.groups[group_id] = decode_group(record.value)


def install(shard: GroupShard, replay: Replay, *, keeps_empty: bool = False) -> list[Group]:
    """Make the groups of a replay and put them into the shard.

    `keeps_empty`: a group is one, as in Kafka 4, from the first offset in the log to its own
    tombstone, whatever became of its offsets.
    """
    shard.open_transactions = replay.open_transactions
    for group_id in dict.fromkeys((*replay.groups, *replay.offsets)):
        offsets = replay.offsets.get(group_id)
        read = replay.groups.get(group_id)
        if read is None and (offsets is None or (offsets.is_empty and not keeps_empty)):
            continue
        group = Group(group_id, shard, None)
        if read is not None:
            restore_members(group, read)
            if group.members.by_id:
                group.state = GroupState.STABLE
        if offsets is not None:
            group.offsets = offsets
        shard.groups[group_id] = group
    return list(shard.groups.values())
