"""A transaction index whose segment has bad batches: it cannot be checked, and the log opens."""

from pathlib import Path

import pytest

from barnabas.storage.errors import CorruptBatch

from ..logs import a_batch, append, end_transaction, file_name, offsets, open_log, read_all

NO_INDEX = {"index_interval_bytes": 10_000}
"""So that the marker is looked for from the start on."""


def write_log(folder: Path) -> None:
    """Two segments; the first one has an aborted transaction, and bad bytes behind its start."""
    log = open_log(folder, **NO_INDEX)
    append(log, a_batch(3, producer_id=7, sequence=0, transactional=True))
    append(log, a_batch(3))
    end_transaction(log, 7, commit=False)
    log.roll(0)
    append(log, a_batch(2))
    second = next(header.size_bytes for header, _ in read_all(log))
    log.close()
    with (folder / "t-0" / file_name(0, "log")).open("r+b") as file:
        file.seek(second)
        file.write(bytes(40))


def test_after_a_crash_it_is_cut_at_the_bad_batch(tmp_path: Path) -> None:
    write_log(tmp_path)
    log = open_log(tmp_path, clean=False, **NO_INDEX)
    assert offsets(log) == [(0, 2)]
    assert any("cannot be checked" in note for note in log.load_report.notes)
    append(log, a_batch(2))
    assert offsets(log) == [(0, 2), (3, 4)]
    log.close()


def test_after_a_clean_stop_nothing_is_cut_and_who_reads_it_is_told(tmp_path: Path) -> None:
    write_log(tmp_path)
    log = open_log(tmp_path, **NO_INDEX)
    assert (log.log_start_offset, log.log_end_offset) == (0, 9)
    assert any("cannot be checked" in note for note in log.load_report.notes)
    with pytest.raises(CorruptBatch):
        log.read(4, 1)
    assert log.read(7, 1).records is not None
    log.close()
