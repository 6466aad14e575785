"""Logs with much to recover: put aside while the others are opened, then recovered elsewhere.

A child is ready after 100 to 150 ms. Recovery goes at 60 MB/s where batches are of 200 bytes
(2 GB/s at 16 KB), so that 8 MB, all logs together, are done before it has begun.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from barnabas.storage.directory_names import FUTURE, TopicPartition
from barnabas.storage.file_names import INDEX, LOG, SWAP, TIME_INDEX
from barnabas.storage.loading.job import LoadJob, Recovered, RecoveryFailed
from barnabas.storage.log_config import WORTH_A_CHILD_BYTES

Recover = Callable[[Sequence[LoadJob], int, Sequence[int]], list[Recovered | RecoveryFailed]]
"""Carries out jobs, so many at a time, in processes that hold these locks: a result for each."""

_logger = logging.getLogger(__name__)


def recover_in_children(
    jobs: Sequence[LoadJob],
    most_children: int,
    lock_fds: Sequence[int],
    *,
    is_given_up: Callable[[], bool] = lambda: False,
) -> list[Recovered | RecoveryFailed]:
    """Carry out jobs in child processes. Raises OpeningGivenUp."""
    from barnabas.storage.loading import process  # seldom needed

    return process.recover_in_children(jobs, most_children, lock_fds, is_given_up)


@dataclass(slots=True)
class UnopenedLog:
    """A log that has been put aside."""

    partition: TopicPartition
    job: LoadJob
    size_bytes: int
    """How much there is to recover, about."""
    notes: list[str]
    """What was mended before that was seen."""
    result: Recovered | RecoveryFailed | None = None
    """What another process has made of it, if one has tried."""

    @property
    def is_future(self) -> bool:
        """Whether it is being filled, to replace another one."""
        return self.job.directory.endswith(FUTURE)


def recover_elsewhere(
    unopened: Sequence[UnopenedLog],
    most_children: int,
    lock_fds: Sequence[int],
    recover: Recover,
    worth_bytes: int = WORTH_A_CHILD_BYTES,
) -> None:
    """Fill in the results, the largest log first, if it is worth while; waits for the end."""
    size_bytes = sum(each.size_bytes for each in unopened)
    if size_bytes < worth_bytes:
        return
    _logger.info("recovering %d logs, %d MB to read", len(unopened), size_bytes >> 20)
    ordered = sorted(unopened, key=lambda each: each.size_bytes, reverse=True)
    results = recover([each.job for each in ordered], most_children, lock_fds)
    for each, result in zip(ordered, results, strict=True):
        each.result = result
        notes = result.report.notes if isinstance(result, Recovered) else [result.reason]
        for note in notes:
            _logger.warning("%s: %s", each.job.directory, note)


_SNAPSHOT = ".snapshot"
_DIGITS = 20


def bytes_to_read(
    names: set[str], size_of: Callable[[str], int], *, clean_shutdown: bool, recovery_point: int
) -> int:
    """Bytes of the segments that are to be recovered, or replayed for the producers' state.

    An estimate: a damaged file shows only when it is opened. `size_of` is asked for the sizes
    of those segments only.
    """
    bases = _offsets(names, LOG)
    doubtful = {name for name in names if name.endswith(LOG + SWAP)}
    if bases:
        first = _first_offset_to_read(
            bases, _offsets(names, _SNAPSHOT), clean_shutdown, recovery_point
        )
        for base_offset in bases:
            stem = f"{base_offset:0{_DIGITS}d}"
            if base_offset >= first or not {stem + INDEX, stem + TIME_INDEX} <= names:
                doubtful.add(stem + LOG)
    return sum(map(size_of, doubtful))


def _offsets(names: Iterable[str], extension: str) -> list[int]:
    return sorted(int(name[:_DIGITS]) for name in names if name[_DIGITS:] == extension)


def _first_offset_to_read(
    bases: list[int], snapshots: list[int], clean_shutdown: bool, recovery_point: int
) -> int:
    """Base offset of the first segment to read, or an offset above all of them."""
    if clean_shutdown:
        # Without any snapshot nothing is replayed either; the one of a stop is above all bases.
        return snapshots[-1] if snapshots else bases[-1] + 1
    first = bases[max(bisect_right(bases, recovery_point) - 1, 0)]
    slot = bisect_right(snapshots, first)
    return min(first, snapshots[slot - 1] if slot else bases[0])
