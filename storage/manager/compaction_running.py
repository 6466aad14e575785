"""A compaction in progress, as the scheduler sees it: does it still hold, and what went wrong?"""

from dataclasses import dataclass

from barnabas.storage.compaction.job import Blame, CompactedGroup, CompactionFailed, Compactor
from barnabas.storage.errors import (
    CorruptBatch,
    LogDirectoryFailed,
    StorageError,
    TooManyOpenFiles,
    is_disk_failure,
)
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.segment.segment import Segment


@dataclass(slots=True, eq=False)
class RunningCompaction:
    """A job, the log it was made from and who carries it out."""

    log: ManagedLog
    segments: dict[int, Segment]
    """The closed segments the job reads that are not replaced yet, by base offset."""
    compactor: Compactor
    generation: int

    @property
    def is_outdated(self) -> bool:
        """Whether the log is no longer what the job was made from.

        Not only what a group replaces must still be there, but all that the job has read: a
        record went because of a later one, which a truncation may have taken away.
        """
        return self.log.store.generation != self.generation or not self.log.config.compact


def failure_of(error: OSError | StorageError) -> CompactionFailed:
    """What an error in the middle of a compaction means."""
    if isinstance(error, OSError):
        return CompactionFailed(str(error), Blame.DISK if is_disk_failure(error) else Blame.NOTHING)
    if isinstance(error, (LogDirectoryFailed, TooManyOpenFiles)):
        return CompactionFailed(str(error), Blame.NOTHING)
    return CompactionFailed(str(error))


def check_new_segment(log: ManagedLog, group: CompactedGroup) -> None:
    """Raise CorruptBatch unless a new segment is the one that was reported; OSError, CorruptIndex.

    Its records were counted when it was read back.
    """
    found = log.store.cleaned_extent(group.base_offset)
    reported = (group.size_bytes, group.last_offset)
    if found != reported:
        raise CorruptBatch(
            f"the new segment has (size, last offset) {found} instead of {reported}",
            offset=group.base_offset,
        )
