"""How many of a log's oldest segments its settings no longer want.

Pure decisions: sizes, timestamps and offsets in, a count out; `Log.delete_old_segments` then
keeps what the high watermark still needs. Source: Kafka's UnifiedLog.deleteOldSegments.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise


def count_below_start(base_offsets: Sequence[int], log_start_offset: int) -> int:
    """Segments that end at or below the log start offset (DeleteRecords); never the last one."""
    count = 0
    for _, following in pairwise(base_offsets):
        if following > log_start_offset:
            break
        count += 1
    return count


def count_above_size(sizes_bytes: Sequence[int], retention_bytes: int) -> int:
    """Segments that can go with the rest still holding `retention_bytes`; -1 means no limit."""
    if retention_bytes < 0:
        return 0
    excess = sum(sizes_bytes) - retention_bytes
    count = 0
    for size in sizes_bytes:
        if excess < size:
            break
        excess -= size
        count += 1
    return count


def count_expired(largest_timestamps: Iterable[int], retention_ms: int, now_ms: int) -> int:
    """Segments whose newest record is older than `retention_ms`; -1 means no limit.

    Stops at the first that is young enough, so later timestamps are never asked for.
    """
    if retention_ms < 0:
        return 0
    count = 0
    for timestamp in largest_timestamps:
        if now_ms - timestamp <= retention_ms:
            break
        count += 1
    return count
