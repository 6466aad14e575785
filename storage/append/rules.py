"""What a topic's settings ask of an append, and what comes out of its validation."""

from dataclasses import dataclass, field
from typing import Final

from barnabas.storage.batch.compression import DEFAULT_LIMIT_BYTES
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader, Buffer

FOREVER_MS: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRules:
    """The settings of one topic that validation reads; built once and kept.

    `codec` None is `compression.type=producer`; `level` belongs to `codec`. `magic` is what
    `message.format.version` asks for. `check_records` is `produce.validation=full`.
    """

    max_message_bytes: int = 1_048_588
    segment_bytes: int = 1 << 30
    magic: int = MAGIC_V2
    codec: int | None = None
    level: int | None = None
    is_compacted: bool = False
    is_log_append_time: bool = False
    timestamp_before_max_ms: int = FOREVER_MS
    timestamp_after_max_ms: int = FOREVER_MS
    check_records: bool = False
    decompressed_limit_bytes: int = DEFAULT_LIMIT_BYTES
    needs_records: bool = field(init=False)
    """Must every append be looked into, record by record?"""

    def __post_init__(self) -> None:
        needs_records = (
            self.check_records
            or self.is_compacted
            or self.codec is not None
            or self.magic != MAGIC_V2
            or (self.timestamp_before_max_ms < FOREVER_MS and not self.is_log_append_time)
        )
        object.__setattr__(self, "needs_records", needs_records)


@dataclass(slots=True)
class ValidatedRecords:
    """Batches ready to be written as they stand in `buffer`.

    `headers` have their final offsets and positions in `buffer`. Offsets are -1 when there is
    nothing to append; `log_append_time_ms` is -1 unless the topic uses it.
    """

    buffer: Buffer
    headers: list[BatchHeader]
    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    """Last offset of the first batch that has the greatest timestamp, as the time index wants."""
    log_append_time_ms: int
    was_rewritten: bool
