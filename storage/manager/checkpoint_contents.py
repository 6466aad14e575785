"""What each checkpoint of a data directory should say, from its logs as they are now."""

from collections.abc import Callable, Mapping
from typing import Final

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.manager.managed_log import ManagedLog

Logs = Mapping[TopicPartition, ManagedLog]


def _recovery_points(logs: Logs, clean_offsets: Offsets) -> Offsets:
    return {partition: log.recovery_point for partition, log in logs.items()}


def _log_starts(logs: Logs, clean_offsets: Offsets) -> Offsets:
    """Only starts that the segments on the disk do not show.

    A log that has been emptied begins in a segment whose name a power cut may take, and whatever
    came before it may be gone as well: offsets that were acknowledged would be given again.
    """
    return {
        partition: log.log_start_offset
        for partition, log in logs.items()
        if log.log_start_offset > log.segments.first.base_offset
        or (log.log_start_offset and not log.segments.first.names_are_durable)
    }


def _high_watermarks(logs: Logs, clean_offsets: Offsets) -> Offsets:
    return {partition: log.high_watermark for partition, log in logs.items()}


def _clean_offsets(logs: Logs, clean_offsets: Offsets) -> Offsets:
    """Without those of partitions that are not here any more."""
    return {partition: offset for partition, offset in clean_offsets.items() if partition in logs}


OFFSETS_FOR: Final[Mapping[str, Callable[[Logs, Offsets], Offsets]]] = {
    checkpoints.RECOVERY_POINT: _recovery_points,
    checkpoints.LOG_START: _log_starts,
    checkpoints.REPLICATION: _high_watermarks,
    checkpoints.CLEANER: _clean_offsets,
}
"""By the checkpoint's name; of the logs and of how far each is compacted."""
