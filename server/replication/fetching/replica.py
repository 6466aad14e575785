"""What a follower does to its log: append what its leader sent, as it is, and cut it.

Every function raises StorageError, and is done when it returns: nothing else has a turn meanwhile.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.header import parse_header
from barnabas.storage.batch.pieces import pieces
from barnabas.storage.errors import UnexpectedAppendOffset
from barnabas.storage.manager.managed_log import ManagedLog

MOST_BYTES_OF_A_PIECE: Final = 1 << 20
MOST_BATCHES_OF_A_PIECE: Final = 256
"""Checked and written in some two milliseconds."""


def pieces_for(log: ManagedLog, records: memoryview) -> Iterator[memoryview]:
    """What is appended to a log at a time: what fits into a segment, `segment.bytes` as now."""
    most_bytes = min(MOST_BYTES_OF_A_PIECE, log.config.segment_bytes)
    return pieces(records, most_bytes, MOST_BATCHES_OF_A_PIECE)


def append(partition: Partition, records: memoryview, now_ms: int) -> int:
    """Append whole batches to a partition's log; where that ends then."""
    append_to(partition.log, records, now_ms)
    return partition.log.log_end_offset


def append_to(log: ManagedLog, records: memoryview, now_ms: int) -> None:
    """Append whole batches.

    A log without records may begin within a batch, where its leader's was cut by DeleteRecords:
    it begins with that batch then, and its start is the leader's again with the next offsets.
    """
    try:
        log.append_as_follower(records, now_ms)
    except UnexpectedAppendOffset:
        first, end = parse_header(records), log.log_end_offset
        if log.log_start_offset != end or not first.base_offset < end <= first.last_offset:
            raise
        log.truncate_fully_and_start_at(first.base_offset, now_ms)
        log.append_as_follower(records, now_ms)


def take_offsets(partition: Partition, high_watermark: int, log_start_offset: int) -> bool:
    """Take over the leader's offsets, as far as the log reaches; whether the watermark moved."""
    log = partition.log
    before = log.high_watermark
    after = log.update_high_watermark(high_watermark)
    log.maybe_increment_log_start_offset(log_start_offset)
    return after != before


def cut(partition: Partition, offset: int, now_ms: int) -> int:
    """Cut the log to an offset; where it ends then."""
    partition.log.truncate_to(offset, now_ms)
    return partition.log.log_end_offset


def start_anew(partition: Partition, offset: int, now_ms: int) -> None:
    """Drop every record; the next one will have `offset`."""
    partition.log.truncate_fully_and_start_at(offset, now_ms)
