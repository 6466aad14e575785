from pathlib import Path

from barnabas.storage.batch.header import walk
from barnabas.storage.compaction.cleaned_segment import CleanedSegment
from barnabas.storage.compaction.job import SourceSegment
from barnabas.storage.log.log import Log
from barnabas.storage.segment.segment import Segment

from ..compaction_jobs import job_for
from ..logs import (
    NOW_MS,
    a_batch,
    append,
    config,
    delete_due_files,
    file_name,
    fill,
    names,
    offsets,
    open_log,
)

SIZE = len(a_batch(2))
SETTINGS = {"segment_bytes": 3 * SIZE, "file_delete_delay_ms": 50}


def filled(folder: Path) -> Log:
    """Ten batches of two records in segments of three batches."""
    log = open_log(folder, **SETTINGS)
    fill(log, 10, 2)
    return log


def test_the_oldest_segments_go(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.delete_old_segments(2, NOW_MS) == 2
    assert (log.log_start_offset, log.segments.base_offsets) == (12, [12, 18])
    assert log.epochs.entries() == [(0, 12)]
    assert {"00000000000000000006.snapshot.deleted", "00000000000000000006.log.deleted"} <= set(
        names(tmp_path)
    )
    delete_due_files(log, NOW_MS + 50)
    assert file_name(6, "log.deleted") not in names(tmp_path)
    log.close()
    assert open_log(tmp_path, **SETTINGS).log_start_offset == 12


def test_nothing_above_the_high_watermark_goes(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.offsets.high_watermark = 11
    assert log.delete_old_segments(4, NOW_MS) == 1
    assert log.log_start_offset == 6
    log.offsets.high_watermark = 5
    assert log.delete_old_segments(4, NOW_MS) == 0


def test_if_all_go_an_empty_one_remains(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.delete_old_segments(9, NOW_MS) == 4
    assert (log.log_start_offset, log.log_end_offset) == (20, 20)
    assert log.segments.base_offsets == [20]
    assert log.delete_old_segments(9, NOW_MS) == 0
    log.close()
    log = open_log(tmp_path, **SETTINGS)
    append(log, a_batch(2))
    assert offsets(log) == [(20, 21)]


def cleaned(log: Log, old: list[Segment], drop: int) -> int:
    """A finished `.cleaned` segment with all but the first `drop` batches of the old ones."""
    job = job_for(Path(log.directory), [SourceSegment(0, 1, 1)], config(**SETTINGS))
    target = CleanedSegment(log.fs, job, old[0].base_offset)
    data = b"".join(segment.slice(0, segment.size_bytes).read() for segment in old)
    start = list(walk(data))[drop].position
    kept = data[start:]
    target.segment.append_set(kept, list(walk(kept)))
    target.segment.finish()
    target.segment.close()
    return old[0].base_offset


def test_a_compacted_segment_takes_the_place_of_several(tmp_path: Path) -> None:
    log = filled(tmp_path)
    old = list(log.segments)[:2]
    records = log.read(0, 10_000).records
    log.store.replace([cleaned(log, old, 4)], old, NOW_MS)
    assert log.segments.base_offsets == [0, 12, 18]
    assert offsets(log) == [(first, first + 1) for first in range(8, 20, 2)]
    assert records is not None and len(list(walk(records.read()))) == 3
    assert file_name(6, "snapshot") not in names(tmp_path)
    assert not [name for name in names(tmp_path) if name.endswith((".swap", ".cleaned"))]
    delete_due_files(log, NOW_MS + 50)
    wanted = offsets(log)
    log.close()
    log = open_log(tmp_path, **SETTINGS)
    assert offsets(log) == wanted
    assert log.load_report.notes == []


def test_a_compaction_that_was_not_finished_is_undone(tmp_path: Path) -> None:
    log = filled(tmp_path)
    cleaned(log, list(log.segments)[:2], 4)
    wanted = offsets(log)
    log.close_files()
    log = open_log(tmp_path, clean=False, **SETTINGS)
    assert offsets(log) == wanted
    assert log.load_report.notes == ["an unfinished compaction is undone"]
    assert not [name for name in names(tmp_path) if "cleaned" in name]


def test_a_compaction_that_only_lacked_the_renaming_is_carried_through(tmp_path: Path) -> None:
    log = filled(tmp_path)
    old = list(log.segments)[:2]
    cleaned(log, old, 4)
    log.close_files()
    for name in names(tmp_path):
        if name.endswith(".cleaned"):
            path = tmp_path / "t-0" / name
            path.rename(path.with_name(name.replace(".cleaned", ".swap")))
    log = open_log(tmp_path, clean=False, **SETTINGS)
    assert offsets(log) == [(first, first + 1) for first in range(8, 20, 2)]
    assert log.segments.base_offsets == [0, 12, 18]
    assert log.load_report.notes == ["a finished compaction is carried through"]
    assert log.load_report.truncated_bytes == 0


def test_swaps_at_or_above_an_unfinished_one_are_undone_with_it(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for start in (0, 2):
        cleaned(log, list(log.segments)[start : start + 2 if start == 0 else start + 1], 1)
    wanted = offsets(log)
    log.close_files()
    for name in names(tmp_path):
        if name.startswith(file_name(12, "")) and name.endswith(".cleaned"):
            path = tmp_path / "t-0" / name
            path.rename(path.with_name(name.replace(".cleaned", ".swap")))
    log = open_log(tmp_path, clean=False, **SETTINGS)
    assert offsets(log) == wanted
    assert not [name for name in names(tmp_path) if name.endswith((".swap", ".cleaned"))]
