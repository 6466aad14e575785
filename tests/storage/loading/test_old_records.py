"""Producers whose records are old: who is idle is told by when they were written, not by that.

Records of what happened long ago are sent today, and whoever sends them may have to send the last
ones again, over a kill of the broker or after a stop.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.loading.job import LoadJob, Recovered
from barnabas.storage.loading.loader import Loader
from barnabas.storage.loading.process import recover_in_children
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.log import Log

from ..logs import NOW_MS, a_batch, append, config, file_name, open_log

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LONG_AGO_MS = NOW_MS - 1000 * DAY_MS


def old_batch(number: int) -> bytearray:
    return a_batch(2, timestamp=LONG_AGO_MS, producer_id=7, sequence=2 * number)


def written(folder: Path, at_ms: int = NOW_MS) -> Log:
    """A producer has written three batches of old records, in two segments."""
    log = open_log(folder, segment_bytes=2 * len(old_batch(0)))
    for number in range(3):
        append(log, old_batch(number), now_ms=at_ms)
    for base_offset in (0, 4):
        path = folder / "t-0" / file_name(base_offset, "log")
        os.utime(path, (at_ms / 1000, at_ms / 1000))
    return log


def killed(log: Log) -> Log:
    log.close_files()
    return open_log(Path(log.directory).parent, clean=False)


def killed_with_much_to_recover(log: Log) -> Log:
    log.close_files()
    job = LoadJob(log.directory, config(), NOW_MS, False, 0, 0, log.producer_id_expiration_ms)
    (result,) = recover_in_children([job], 1)
    assert isinstance(result, Recovered)
    loader = Loader(FileCache(REAL), job)
    loader.load_recovered(result)
    return Log(loader, "t-0", LogListener())


def killed_with_the_last_segment_to_recover(log: Log) -> Log:
    log.close_files()
    return open_log(Path(log.directory).parent, clean=False, recovery_point=4)


def stopped(log: Log) -> Log:
    log.close()
    return open_log(Path(log.directory).parent)


def truncated(log: Log) -> Log:
    """As the follower of another leader."""
    append(log, a_batch(1))
    log.truncate_to(6, NOW_MS)
    return log


def swept(log: Log) -> Log:
    assert log.remove_expired_producers(NOW_MS + HOUR_MS) == []
    return log


def killed_and_swept(log: Log) -> Log:
    return swept(killed(log))


@pytest.mark.parametrize(
    "goes_through",
    [
        killed,
        killed_with_much_to_recover,
        killed_with_the_last_segment_to_recover,
        stopped,
        truncated,
        swept,
        killed_and_swept,
    ],
)
def test_what_is_sent_again_is_recognised(
    tmp_path: Path, goes_through: Callable[[Log], Log]
) -> None:
    log = goes_through(written(tmp_path))
    assert append(log, old_batch(2)).is_duplicate
    assert not append(log, old_batch(3)).is_duplicate


@pytest.mark.parametrize("goes_through", [killed, stopped])
def test_who_has_written_nothing_for_a_day_is_forgotten(
    tmp_path: Path, goes_through: Callable[[Log], Log]
) -> None:
    log = goes_through(written(tmp_path, NOW_MS - DAY_MS))
    log.remove_expired_producers(NOW_MS)
    assert not log.producers.producers


def test_a_producer_is_kept_for_a_day_from_its_last_batch(tmp_path: Path) -> None:
    log = written(tmp_path)
    assert log.remove_expired_producers(NOW_MS + DAY_MS - 1) == []
    assert log.remove_expired_producers(NOW_MS + DAY_MS) == [7]
