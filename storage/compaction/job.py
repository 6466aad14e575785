"""What a compaction is told, and what it tells: fit to be sent to another process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import NamedTuple, Protocol

from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment.offset_index import MAX_POSITION, MAX_RELATIVE_OFFSET
from barnabas.storage.segment.transaction_index import AbortedTransaction

DEDUPE_BUFFER_BYTES = 128 << 20
"""`log.cleaner.dedupe.buffer.size`"""


class LastRecord(NamedTuple):
    """The last thing a live producer wrote: offset of its last data (-1: none), and epoch."""

    data_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A closed segment to compact: its first offset, that of the next segment, its size."""

    base_offset: int
    next_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CompactionJob:
    """All that a compaction needs to know.

    `segments` reach from the log's first one to the first that must not be touched;
    `aborted` are all aborted transactions that end in or behind them.
    """

    topic_partition: str
    directory: str
    config: LogConfig
    segments: Sequence[SourceSegment]
    first_dirty_offset: int
    high_watermark: int
    now_ms: int
    generation: int = 0
    """Of the log, when the job was made: of another generation it does not hold."""
    aborted: Sequence[AbortedTransaction] = ()
    last_records: Mapping[int, LastRecord] = field(default_factory=dict)
    dedupe_buffer_bytes: int = DEDUPE_BUFFER_BYTES
    load_factor: float = 0.9
    io_bytes_per_second: float = inf
    """Heeded by `CompactionProcess`: nobody else has a clock to do it by."""
    open_files: int = 16
    """How many of a new segment's files are open at a time."""
    read_bytes: int = 1 << 20
    """So much of a source is read at a time, more where a batch is larger."""
    write_bytes: int = 1 << 20
    """What is left of batches is gathered to about so much before it is written."""
    most_relative_offset: int = MAX_RELATIVE_OFFSET
    """How far the offsets of a new segment may lie above its base offset."""
    most_segment_bytes: int = MAX_POSITION
    """How large a new segment may be: an index entry has four bytes for a position."""


@dataclass(frozen=True, slots=True)
class CompactedGroup:
    """Segments that one new segment, written with the suffix `.cleaned`, takes the place of."""

    base_offset: int
    replaced: Sequence[SourceSegment]
    size_bytes: int
    record_count: int
    """Read back from the file, as the other two numbers: nothing is taken to be written."""
    last_offset: int
    """Of the last batch; one below the base offset if there is none."""


@dataclass(frozen=True, slots=True)
class CompactionDone:
    """The end of a compaction; all before `clean_offset` is clean now."""

    clean_offset: int
    read_bytes: int
    written_bytes: int
    keys: int


class Blame(Enum):
    """What made a compaction fail."""

    LOG = "its records: it would fail again"
    DISK = "the disk: nothing is known any more of what is on it"
    NOTHING = "what may pass: a file that is not there, no descriptor left, a child that died"


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """A compaction that came to nothing, and what is to blame for it."""

    reason: str
    blame: Blame = Blame.LOG


CompactionEvent = CompactedGroup | CompactionDone | CompactionFailed


class Compactor(Protocol):
    """Something that carries out one job at a time."""

    def submit(self, job: CompactionJob) -> None:
        """Begin a job; the one before must have ended."""

    def poll(self) -> list[CompactionEvent]:
        """What has happened since the last call, without waiting."""

    def fileno(self) -> int | None:
        """A descriptor that turns readable when `poll` has something, None if there is none."""

    def another(self) -> "Compactor":
        """One more of its kind, to carry out jobs at the same time."""

    def close(self) -> None:
        """Drop what is in progress and give everything back; `submit` may follow."""
