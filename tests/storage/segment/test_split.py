"""Segments as Apache Kafka before 1.1.1 could write them: offsets that no index entry can hold."""

from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log

from ..faulty_disk import Fault, FaultyDisk, Killed
from ..logs import NOW_MS, a_batch, append, config, file_name, names, offsets, open_log

FAR = 1 << 31
FIRSTS = [0, 5, FAR - 1, FAR, FAR + 7, 3 * FAR]


def overflowing_log(folder: Path, tail: bytes = b"") -> None:
    """Segment 0 holds single records at `FIRSTS`, the next one begins behind them."""
    directory = folder / "t-0"
    directory.mkdir()
    data = b"".join(
        build_batch([Record(first, NOW_MS, b"k", b"at %d" % first)], producer_id=7,
                    producer_epoch=0, base_sequence=number)
        for number, first in enumerate(FIRSTS)
    )  # fmt: skip
    (directory / file_name(0, "log")).write_bytes(data + tail)
    following = build_batch([Record(3 * FAR + 1, NOW_MS, b"k", b"next")])
    (directory / file_name(3 * FAR + 1, "log")).write_bytes(following)


@pytest.mark.parametrize("clean", [True, False])
def test_it_is_split_where_the_index_ends(tmp_path: Path, clean: bool) -> None:
    overflowing_log(tmp_path)
    log = open_log(tmp_path, clean=clean)
    assert log.segments.base_offsets == [0, FAR, 3 * FAR, 3 * FAR + 1]
    assert log.load_report.notes[0] == f"segment 0 is split into [0, {FAR}, {3 * FAR}]"
    assert [first for first, _ in offsets(log)] == [*FIRSTS, 3 * FAR + 1]
    assert log.load_report.truncated_bytes == 0
    (producer,) = log.producer_entries()
    assert producer.last_sequence == len(FIRSTS) - 1
    append(log, a_batch())
    log.close()
    log = open_log(tmp_path)
    assert log.load_report.notes == []
    assert [first for first, _ in offsets(log)] == [*FIRSTS, 3 * FAR + 1, 3 * FAR + 2]
    assert not [name for name in names(tmp_path) if name.endswith((".cleaned", ".swap"))]


def test_what_is_no_batch_at_its_end_is_cut_as_everywhere(tmp_path: Path) -> None:
    overflowing_log(tmp_path, tail=b"torn")
    log = open_log(tmp_path)
    assert log.load_report.truncated_bytes == 4
    assert [first for first, _ in offsets(log)] == [*FIRSTS, 3 * FAR + 1]


def test_a_gap_that_wide_is_no_overflow(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    for first in (0, 3 * FAR):
        batch = build_batch([Record(first, NOW_MS, b"k", b"v")])
        (directory / file_name(first, "log")).write_bytes(batch)
    log = open_log(tmp_path, clean=False)
    assert log.segments.base_offsets == [0, 3 * FAR]
    assert log.load_report.notes == []


@pytest.mark.parametrize("fault", [Fault.KILL, Fault.TEAR])
def test_whenever_it_is_stopped_the_next_start_finds_everything(
    fault: Fault, tmp_path: Path
) -> None:
    for at in range(fault is Fault.TEAR, 1000, 3):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        overflowing_log(folder)
        disk = FaultyDisk(folder, fault, at)
        try:
            Log.open(str(folder / "t-0"), "t-0", config(), NOW_MS, fs=disk.fs).close_files()
        except Killed:
            pass
        log = open_log(folder, clean=False)
        assert [first for first, _ in offsets(log)] == [*FIRSTS, 3 * FAR + 1]
        log.close()
        if not disk.is_dead:
            assert at > 10
            return
    pytest.fail("there is no end of it")
