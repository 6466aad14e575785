"""Logs with much to recover: put aside while the others are opened, then recovered elsewhere.

A child is ready after 100 to 150 ms. Recovery goes at 60 MB/s where batches are of 200 bytes
(2 GB/s at 16 KB), so that 8 MB, all logs together, are done before it has begun.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.loading.job import LoadJob, Recovered, RecoveryFailed

SMALL_BYTES: Final = 64 << 10
"""A log with no more than this to read is never put aside."""
WORTH_A_CHILD_BYTES: Final = 8 << 20
"""From so much on, of all logs put aside together, children do it."""

Recover = Callable[[Sequence[LoadJob], int, Sequence[int]], list[Recovered | RecoveryFailed]]
"""Carries out jobs, so many at a time, in processes that hold these locks: a result for each."""

_logger = logging.getLogger(__name__)


def recover_in_children(
    jobs: Sequence[LoadJob], most_children: int, lock_fds: Sequence[int]
) -> list[Recovered | RecoveryFailed]:
    """Carry out jobs in child processes."""
    from barnabas.storage.loading import process  # seldom needed

    return process.recover_in_children(jobs, most_children, lock_fds)


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
