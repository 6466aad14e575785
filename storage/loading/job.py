"""What the opening of a log is told, and what it tells: fit to be sent to another process."""

from dataclasses import dataclass, field

from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.state import Windows

FAR = 1 << 63
"""Above every offset and size."""


class TooMuchHere(Exception):
    """There is more to recover or to replay than is to be done in this process."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self.size_bytes = size_bytes


@dataclass(slots=True)
class LoadReport:
    """What opening a log, and using it since, had to mend."""

    truncated_bytes: int = 0
    recovered_segments: list[int] = field(default_factory=list)
    """Base offsets of the segments that were checked batch by batch."""
    dropped_segments: list[int] = field(default_factory=list)
    """Base offsets of the segments that followed a bad batch."""
    notes: list[str] = field(default_factory=list)
    """The same in sentences; empty if nothing was wrong."""


@dataclass(frozen=True, slots=True)
class LoadJob:
    """A log to open, and what is known of it."""

    directory: str
    config: LogConfig
    now_ms: int
    clean_shutdown: bool
    recovery_point: int
    log_start_offset: int
    producer_id_expiration_ms: int
    had_snapshots: bool = False
    """Producers are replayed even if no snapshot is left: a damaged one may have been removed."""
    is_contiguous: bool = False
    """Nothing has ever compacted it: each segment begins where the one before it ended."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """A log whose files are as after a clean stop, but for what is not synced yet.

    All below `recovery_point` is on the disk.
    """

    recovery_point: int
    log_start_offset: int
    report: LoadReport
    windows: Windows = field(default_factory=dict)
    """Of its producers: the files have room for their last batches only."""


@dataclass(frozen=True, slots=True)
class RecoveryFailed:
    """A recovery that came to nothing."""

    reason: str
