"""What an append tells its caller."""

from dataclasses import dataclass

from barnabas.storage.batch.header import NO_TIMESTAMP


@dataclass(slots=True)
class AppendInfo:
    """Where records went. Offsets are -1 where nothing was appended.

    `log_append_time_ms` is -1 unless the topic stamps records with the broker's time.
    `is_duplicate`: an idempotent producer sent one of its last five batches again; nothing
    was written, and the offsets are those of the first time.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_start_offset: int
    record_count: int
    log_append_time_ms: int = NO_TIMESTAMP
    is_duplicate: bool = False
