"""What compaction writes is where it belongs, however many files are open beside it."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.compaction.batch_filter import FilteredBatch
from barnabas.storage.compaction.cleaned_segment import CleanedSegment, Extent
from barnabas.storage.compaction.cleaner import compact
from barnabas.storage.compaction.job import (
    CompactedGroup,
    CompactionEvent,
    CompactionJob,
    SourceSegment,
)
from barnabas.storage.compaction.process import run_job
from barnabas.storage.disk.fs import REAL, Buffer, FileSystem
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.log_config import LogConfig

from ..compaction_jobs import job_for, read_back, swap_in, write_segment

CONFIG = LogConfig(cleanup_policy=("compact",), index_interval_bytes=100)
SMALL: dict[str, int] = {"read_bytes": 200, "write_bytes": 300, "open_files": 1}


def write_segments(directory: Path, count: int, batches: int = 4) -> list[SourceSegment]:
    """So many segments of unique keys."""
    return [
        write_segment(
            directory,
            base,
            [[(b"%d" % offset, b"v" * 90)] for offset in range(base, base + batches)],
        )
        for base in range(0, count * batches, batches)
    ]


def small_job(directory: Path) -> CompactionJob:
    return job_for(directory, [SourceSegment(0, 1, 1)], CONFIG)


def run(directory: Path, sources: Sequence[SourceSegment], fs: FileSystem = REAL) -> CompactedGroup:
    job = replace(job_for(directory, sources, CONFIG), **SMALL)
    group, _ = compact(fs, job)
    assert isinstance(group, CompactedGroup)
    return group


@pytest.mark.parametrize("count", [1, 13, 14, 40, 200])
def test_any_number_of_segments_becomes_one_with_every_record(count: int, tmp_path: Path) -> None:
    sources = write_segments(tmp_path, count)
    group = run(tmp_path, sources)
    swap_in(tmp_path, [group])
    assert [record.offset for record in read_back(tmp_path)] == list(range(4 * count))
    assert (group.record_count, group.last_offset) == (4 * count, 4 * count - 1)


def test_sources_are_closed_once_they_are_read(tmp_path: Path) -> None:
    most = 0
    opened: set[int] = set()

    def open_file(path: str, flags: int, mode: int) -> int:
        nonlocal most
        fd = os.open(path, flags, mode)
        opened.add(fd)
        most = max(most, len(opened))
        return fd

    def close(fd: int) -> None:
        opened.discard(fd)
        os.close(fd)

    run(tmp_path, write_segments(tmp_path, 50), FileSystem(open=open_file, close=close))
    assert most <= 5
    assert opened == set()


def test_nothing_is_written_where_a_descriptor_happens_to_stand(tmp_path: Path) -> None:
    def write(fd: int, data: Buffer) -> int:
        raise AssertionError("a write without a position")

    run(tmp_path, write_segments(tmp_path, 3), FileSystem(write=write))


def test_short_writes_are_gone_on_with(tmp_path: Path) -> None:
    def pwrite(fd: int, data: Buffer, position: int) -> int:
        return os.pwrite(fd, memoryview(data)[:7], position)

    swap_in(tmp_path, [run(tmp_path, write_segments(tmp_path, 3), FileSystem(pwrite=pwrite))])
    assert [record.offset for record in read_back(tmp_path)] == list(range(12))


def test_every_file_and_its_name_are_synced_before_the_segment_is_reported(tmp_path: Path) -> None:
    synced: list[str] = []

    def fsync(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    run(tmp_path, write_segments(tmp_path, 2), FileSystem(fsync=fsync))
    stem = f"{0:020}"
    assert set(synced[:-1]) == {
        f"{stem}.log.cleaned", f"{stem}.index.cleaned", f"{stem}.timeindex.cleaned"
    }  # fmt: skip
    assert synced[-1] == tmp_path.name


def failure_of(directory: Path, fs: FileSystem) -> CompactionEvent:
    sources = write_segments(directory, 20)
    job = replace(job_for(directory, sources, CONFIG), **SMALL)
    (event,) = run_job(fs, job)
    return event


def test_output_that_is_not_what_was_written_is_never_reported(tmp_path: Path) -> None:
    """Flow: the second write lands on the first, as it did when a descriptor was opened again."""

    def pwrite(fd: int, data: Buffer, position: int) -> int:
        is_log = Path(f"/proc/self/fd/{fd}").readlink().name.endswith(".log.cleaned")
        return os.pwrite(fd, data, 0 if is_log else position)

    event = failure_of(tmp_path, FileSystem(pwrite=pwrite))
    assert not isinstance(event, CompactedGroup)
    assert [record.offset for record in read_back(tmp_path)] == list(range(80))


def test_a_batch_lost_on_the_way_to_the_disk_is_noticed(tmp_path: Path) -> None:
    """The first batch is the second one over again: as long, sound, and it ends the same."""
    segment = CleanedSegment(REAL, small_job(tmp_path), 0)
    batches = [build_batch([Record(offset, 1, b"k", b"v")]) for offset in (3, 5)]
    for batch, offset in zip(batches, (3, 5), strict=True):
        segment.append(FilteredBatch((batch,), offset, 1, 1))
    segment._pending[0] = batches[1]
    with pytest.raises(CorruptBatch, match="offsets do not rise"):
        segment.finish(0)


def test_records_are_counted_in_the_file(tmp_path: Path) -> None:
    segment = CleanedSegment(REAL, small_job(tmp_path), 0)
    segment.append(FilteredBatch((build_batch([Record(3, 1, b"k", b"v")]),), 3, 1, 2))
    with pytest.raises(CorruptBatch, match=r"record_count=2.* is .*record_count=1"):
        segment.finish(0)


def test_a_segment_past_what_its_index_can_point_to_is_refused(tmp_path: Path) -> None:
    batch = build_batch([Record(3, 1, b"k", b"v")])
    job = replace(small_job(tmp_path), most_segment_bytes=len(batch))
    segment = CleanedSegment(REAL, job, 0)
    segment.append(FilteredBatch((batch,), 3, 1, 1))
    with pytest.raises(CorruptBatch, match="would grow past"):
        segment.append(FilteredBatch((batch,), 4, 1, 1))
    assert segment.finish(0) == Extent(len(batch), 1, 3)


def test_offsets_too_far_apart_for_one_index_stay_apart(tmp_path: Path) -> None:
    sources = write_segments(tmp_path, 6)
    job = replace(job_for(tmp_path, sources, CONFIG), most_relative_offset=8)
    events = list(compact(REAL, job))
    groups = [event for event in events if isinstance(event, CompactedGroup)]
    assert [len(group.replaced) for group in groups] == [2, 2, 2]
    swap_in(tmp_path, groups)
    assert [record.offset for record in read_back(tmp_path)] == list(range(24))
