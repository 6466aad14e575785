"""When a log's leader epochs get to the disk: before what was written in them counts as durable."""

from pathlib import Path

from barnabas.storage.producers.leader_epochs import FILE_NAME

from ..logs import a_batch, append, fill, open_log


def identity(folder: Path) -> tuple[int, bytes]:
    path = folder / "t-0" / FILE_NAME
    return path.stat().st_ino, path.read_bytes()


def test_leading_a_log_again_replaces_no_file(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    log.close()
    before = identity(tmp_path)
    for epoch in range(1, 5):
        log = open_log(tmp_path)
        log.assign_epoch(epoch, log.log_end_offset)
        assert log.epochs.latest_epoch == epoch
        log.close()
        assert identity(tmp_path) == before


def test_an_epoch_that_is_not_written_is_found_again_in_its_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    log.close()
    for epoch in (4, 7):
        log = open_log(tmp_path)
        log.assign_epoch(epoch, 3)
    append(log, a_batch(), leader_epoch=7)
    append(log, a_batch(), leader_epoch=7)
    log.close_files()  # killed
    log = open_log(tmp_path, clean=False, recovery_point=3)
    assert log.epochs.entries() == [(0, 0), (7, 3)]
    log.close()


def test_a_flush_takes_it_along(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    log.close()
    log = open_log(tmp_path)
    log.assign_epoch(7, 3)
    append(log, a_batch(), leader_epoch=7)
    flush = log.flusher.begin()
    assert flush is not None and f"{tmp_path}/t-0/{FILE_NAME}" in flush.paths
    flush.sync()
    log.flusher.end(flush)
    log.close_files()
    log = open_log(tmp_path, clean=False, recovery_point=4)
    assert log.epochs.entries() == [(0, 0), (7, 3)]
    log.close()


def test_a_stop_writes_what_has_records(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    log.close()
    log = open_log(tmp_path)
    log.assign_epoch(7, 3)
    append(log, a_batch(), leader_epoch=7)
    log.assign_epoch(8, 4)
    log.close()
    log = open_log(tmp_path)
    assert log.epochs.entries() == [(0, 0), (7, 3)]
    log.close()
