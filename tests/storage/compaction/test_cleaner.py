"""Compaction against what Kafka's own cleaner made of the same log, batch for batch."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.batch.header import crc_is_valid, walk
from barnabas.storage.batch.records import decode_all
from barnabas.storage.compaction.cleaner import compact
from barnabas.storage.compaction.job import (
    CompactedGroup,
    CompactionDone,
    CompactionJob,
    LastRecord,
    SourceSegment,
)
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.snapshot import parse_snapshot
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import TransactionIndex

from ..compaction_jobs import swap_in
from ..golden import manifest, unpack

CONFIG = LogConfig(cleanup_policy=("compact",), delete_retention_ms=3000, index_interval_bytes=100)
PRODUCER_ID_EXPIRATION_MS = 86_400_000
VERSIONS = ["3.9.1", "4.3.1"]
PARTITIONS = ["compacted-0", "compacted-1"]


def job_of(directory: Path, first_dirty: int, now_ms: int, end_offset: int) -> CompactionJob:
    """What a broker would ask for, taken from the files: the last segment is the active one."""
    bases = sorted(int(path.stem) for path in directory.glob("*.log"))
    segments = [
        SourceSegment(base, following, (directory / f"{base:020}.log").stat().st_size)
        for base, following in pairwise(bases)
    ]
    files = FileCache(REAL)
    aborted = [
        entry
        for path in sorted(directory.glob("*.txnindex"))
        for entry in TransactionIndex(files, str(path), int(path.stem), exists=True).entries()
    ]
    newest = max(directory.glob("*.snapshot"))
    producers = [
        producer
        for producer in parse_snapshot(newest.read_bytes())
        if now_ms - producer.last_timestamp < PRODUCER_ID_EXPIRATION_MS
    ]
    return CompactionJob(
        topic_partition=directory.name,
        directory=str(directory),
        config=CONFIG,
        segments=segments,
        first_dirty_offset=first_dirty,
        high_watermark=end_offset,
        now_ms=now_ms,
        aborted=aborted,
        last_records={
            each.producer_id: LastRecord(each.last_data_offset, each.epoch) for each in producers
        },
    )


def run(job: CompactionJob) -> tuple[list[CompactedGroup], CompactionDone]:
    *groups, done = compact(REAL, job)
    assert isinstance(done, CompactionDone)
    return [group for group in groups if isinstance(group, CompactedGroup)], done


def horizons(version: str, case: str, partition: str) -> Iterator[int]:
    for batch in manifest(version, case)["files"][f"{partition}/{0:020}.log"]["batches"]:
        if batch["deleteHorizonMs"] is not None:
            yield batch["deleteHorizonMs"]


def described(data: bytes) -> list[dict[str, Any]]:
    """Batches as the manifest describes them, sizes and CRCs of compressed ones left out."""
    rows = []
    for header in walk(data):
        assert crc_is_valid(data, header)
        row: dict[str, Any] = {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.record_count,
            "baseSequence": header.base_sequence,
            "lastSequence": header.last_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "isTransactional": header.is_transactional,
            "isControl": header.is_control,
            "deleteHorizonMs": header.delete_horizon_ms,
            "timestamp": header.max_timestamp,
            "codec": header.codec,
        }
        if not header.codec:
            row |= {"size": header.size_bytes, "crc": header.crc}
        rows.append(row)
    return rows


def assert_same_log(ours: Path, theirs: Path) -> None:
    mine, golden = ours.read_bytes(), theirs.read_bytes()
    assert described(mine) == described(golden)
    assert list(decode_all(mine)) == list(decode_all(golden))


def assert_same_index(ours: Path, theirs: Path) -> None:
    """Equal but for positions, which compressed sizes shift."""
    files = FileCache(REAL)
    loaded = []
    for path in (ours, theirs):
        segment = Segment(files, str(path.parent), int(path.stem), CONFIG, 0)
        segment.attach(path.stat().st_size)
        loaded.append(
            (
                [offset for offset, _ in segment.offset_index.entries()],
                segment.time_index.entries(),
            )
        )
    assert loaded[0] == loaded[1]


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_pass_leaves_what_kafkas_leaves(
    version: str, partition: str, tmp_path: Path
) -> None:
    before = unpack(version, "compacted-before", tmp_path) / partition
    after = unpack(version, "compacted-after", tmp_path) / partition
    now_ms = next(horizons(version, "compacted-after", partition)) - CONFIG.delete_retention_ms
    end_offset = max(int(path.stem) for path in before.glob("*.log")) + 1
    groups, done = run(job_of(before, 0, now_ms, end_offset))
    swap_in(before, groups)
    assert {path.name for path in before.glob("*.log")} == {p.name for p in after.glob("*.log")}
    first = f"{0:020}.log"
    assert_same_log(before / first, after / first)
    assert_same_index(before / first, after / first)
    assert done.clean_offset == end_offset - 1
    mine, theirs = before / f"{0:020}.txnindex", after / f"{0:020}.txnindex"
    content = theirs.read_bytes() if theirs.exists() else b""
    assert (mine.read_bytes() if mine.exists() else b"") == content


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_later_pass_drops_tombstones_and_markers_as_kafkas_does(
    version: str, partition: str, tmp_path: Path
) -> None:
    """Flow: the log after the first pass got two more records, each in a segment of its own;
    the second pass came after the first one's delete horizons."""
    before = unpack(version, "compacted-after", tmp_path) / partition
    after = unpack(version, "compacted-after2", tmp_path) / partition
    first = f"{0:020}.log"
    added = (after / first).read_bytes()
    *_, last = walk(added)
    (before / f"{last.base_offset:020}.log").write_bytes(added[last.position : last.end])
    active = f"{last.base_offset + 1:020}.log"
    shutil.copy(after / active, before / active)
    for path in before.glob("*.snapshot"):
        path.unlink()
    snapshot = f"{last.base_offset + 1:020}.snapshot"
    shutil.copy(after / snapshot, before / snapshot)

    earlier = set(horizons(version, "compacted-after", partition))
    new = set(horizons(version, "compacted-after2", partition)) - earlier
    now_ms = (min(new) - CONFIG.delete_retention_ms) if new else max(earlier) + 1
    dirty = sorted(int(path.stem) for path in before.glob("*.log"))[1]
    groups, done = run(job_of(before, dirty, now_ms, last.base_offset + 2))
    swap_in(before, groups)
    assert_same_log(before / first, after / first)
    assert_same_index(before / first, after / first)
    assert done.clean_offset == last.base_offset + 1
    mine, theirs = before / f"{0:020}.txnindex", after / f"{0:020}.txnindex"
    content = theirs.read_bytes() if theirs.exists() else b""
    assert (mine.read_bytes() if mine.exists() else b"") == content


def test_a_second_pass_over_the_same_log_changes_nothing(tmp_path: Path) -> None:
    before = unpack("3.9.1", "compacted-before", tmp_path) / "compacted-0"
    job = job_of(before, 0, 1_000_000, 61)
    swap_in(before, run(job)[0])
    once = (before / f"{0:020}.log").read_bytes()
    swap_in(before, run(job_of(before, 0, 1_000_001, 61))[0])
    assert (before / f"{0:020}.log").read_bytes() == once
