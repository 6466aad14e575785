"""What an append and a read tell their callers."""

from dataclasses import dataclass
from enum import Enum

from barnabas.storage.batch.header import NO_TIMESTAMP
from barnabas.storage.disk.open_files import FileSlice


@dataclass(slots=True)
class AppendInfo:
    """Where records went. Offsets are -1 where nothing was appended.

    `log_append_time_ms` is -1 unless the topic stamps records with the broker's time.
    `is_duplicate`: an idempotent producer sent one of its last five batches again; nothing
    was written, and the offsets are those of the first time. `converted_count` records were
    converted to the topic's format, or compressed anew.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_start_offset: int
    record_count: int
    log_append_time_ms: int = NO_TIMESTAMP
    is_duplicate: bool = False
    converted_count: int = 0


class ReadBound(Enum):
    """Up to where a reader may see: a replica, a plain consumer, a read_committed one."""

    LOG_END = "log end offset"
    HIGH_WATERMARK = "high watermark"
    LAST_STABLE = "last stable offset"


@dataclass(slots=True)
class ReadResult:
    """A stretch of one segment's `.log` file, or nothing (`records` is None).

    It starts with the batch that holds the wanted offset, so it may begin below it, and may
    end in the middle of a batch; `first_entry_incomplete` says that it ends in the first.
    `aborted_transactions` are (producer id, first offset), and None unless the last stable
    offset was the bound.
    """

    records: FileSlice | None
    aborted_transactions: list[tuple[int, int]] | None = None
    first_entry_incomplete: bool = False
