"""Reading a partition of __consumer_offsets back into groups.

The log is replayed from its start: later records win, tombstones remove, offsets of a
transaction take effect at its commit marker. This is Python at work on the one loop that
everybody shares, so it goes in slices of a few milliseconds and other requests are served in
between; small partitions are done before the first pause.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas.server.groups.group import Group
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
from barnabas.server.groups.shards import Shard
from barnabas.server.groups.states import GroupState
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.wire.messages.group_metadata_value import GroupMetadataValue

SLICE_MS = 4.0
RECORDS_BETWEEN_LOOKS = 64


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
        """A marker: the producer's offsets count, or never were."""
        for group_id in self.open_transactions.pop(producer_id, ()):
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


async def load(shard: Shard, buffer_bytes: int) -> Replay:
    """Replay the shard's log, letting others run; nothing is put into the shard yet."""
    replay = Replay()
    slice_ends = time.monotonic() * 1000 + SLICE_MS
    for number, (record, header) in enumerate(_records(shard.partition.log, buffer_bytes)):
        if header.is_control:
            marker = parse_control(record)
            if isinstance(marker, EndTransactionMarker):
                replay.end_transaction(header.producer_id, marker.is_commit)
        else:
            replay.apply(record, header)
        if number % RECORDS_BETWEEN_LOOKS == 0 and time.monotonic() * 1000 > slice_ends:
            await asyncio.sleep(0)
            if shard.is_gone:
                break
            slice_ends = time.monotonic() * 1000 + SLICE_MS
    return replay


def _records(log: Log, buffer_bytes: int) -> Iterator[tuple[Record, BatchHeader]]:
    """Every record with its batch's header, to the log's end."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, buffer_bytes, bound=ReadBound.LOG_END).records
        if found is None:
            return
        data = found.read()
        after = offset
        for header in walk(data, partial_tail=True):
            for record in decode_batch(data, header):
                yield record, header
            after = header.next_offset
        if after <= offset:
            return
        offset = after


def install(shard: Shard, replay: Replay, *, keeps_empty: bool = False) -> list[Group]:
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
