"""Whoever was not answered when the broker died sends five batches again: all are recognised."""

from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import OutOfOrderSequence
from barnabas.storage.loading.job import LoadJob, Recovered
from barnabas.storage.loading.loader import Loader
from barnabas.storage.loading.process import recover_in_children
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.log import Log

from ..logs import NOW_MS, a_batch, append, config, end_transaction, open_log

SIZE = len(a_batch(2, producer_id=7, sequence=0))
COUNT = 9


def killed(folder: Path, batches_in_a_segment: int, recovery_point: int = 0) -> LoadJob:
    """A log in which two producers have written, when its broker dies."""
    log = open_log(folder, segment_bytes=batches_in_a_segment * SIZE)
    for number in range(COUNT):
        append(log, batch_of(7, number))
        append(log, batch_of(8, number))
    log.close_files()
    return LoadJob(
        log.directory, config(), NOW_MS, False, recovery_point, 0, log.producer_id_expiration_ms
    )


def batch_of(producer_id: int, number: int) -> bytearray:
    return a_batch(2, producer_id=producer_id, sequence=2 * number, transactional=producer_id == 8)


def send_again(log: Log) -> None:
    """The last five are recognised, the one before is not."""
    for producer_id in (7, 8):
        for number in range(COUNT - 5, COUNT):
            again = append(log, batch_of(producer_id, number))
            assert again.is_duplicate and again.first_offset == 4 * number + 2 * (producer_id - 7)
        with pytest.raises(OutOfOrderSequence):
            append(log, batch_of(producer_id, COUNT - 6))


@pytest.mark.parametrize("batches_in_a_segment", [100, 4, 1])
@pytest.mark.parametrize("in_child", [False, True])
def test_they_are_after_a_kill(tmp_path: Path, batches_in_a_segment: int, in_child: bool) -> None:
    job = killed(tmp_path, batches_in_a_segment)
    loader = Loader(FileCache(REAL), job)
    if in_child:
        (result,) = recover_in_children([job], 1)
        assert isinstance(result, Recovered)
        loader.load_recovered(result)
    else:
        loader.load()
    send_again(Log(loader, "t-0", LogListener()))


def test_a_producer_whose_last_batch_is_cut_off_goes_on_behind_the_others(tmp_path: Path) -> None:
    killed(tmp_path, 100)
    path = tmp_path / "t-0" / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-10])
    log = open_log(tmp_path, clean=False)
    assert not append(log, batch_of(8, COUNT - 1)).is_duplicate
    send_again(log)


def test_a_new_epoch_has_left_the_old_ones_batches_behind(tmp_path: Path) -> None:
    killed(tmp_path, 100)
    log = open_log(tmp_path, clean=False)
    end_transaction(log, 8, commit=True, epoch=1, transaction_version=2)
    log.close_files()
    log = open_log(tmp_path, clean=False)
    first = a_batch(2, producer_id=8, epoch=1, sequence=0, transactional=True)
    assert not append(log, first).is_duplicate
