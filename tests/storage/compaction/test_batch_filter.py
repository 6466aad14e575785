"""Compaction against the rule it must follow, written down over plain lists of records.

Flow: a random log of batches (plain, compressed, of old formats, with and without keys) is
cut into segments and compacted in one or more passes; what is left must be what the rule
leaves, every surviving record unchanged in all its parts.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import crc_is_valid, walk
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record, decode_all
from barnabas.storage.compaction.cleaner import compact
from barnabas.storage.compaction.job import CompactedGroup, CompactionDone
from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.log_config import LogConfig

from ..compaction_jobs import SourceSegment, job_for, read_back, swap_in

NOW_MS = 2_000_000_000_000
CONFIG = LogConfig(
    cleanup_policy=("compact",),
    delete_retention_ms=1000,
    index_interval_bytes=50,
    segment_bytes=900,
)
KEYS = st.sampled_from([b"a", b"b", b"c", b"", None])
VALUES = st.one_of(st.none(), st.binary(max_size=8), st.just(b"x" * 100))
HEADERS = st.sampled_from([(), (("h", b"1"),), (("h", None), ("", b""))])
TIMES = st.integers(0, 10**12)


@dataclass
class BatchShape:
    records: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]]
    magic: int
    codec: int
    append_time_ms: int | None
    gap: int


BATCHES = st.builds(
    BatchShape,
    records=st.lists(st.tuples(KEYS, VALUES, HEADERS, TIMES), min_size=1, max_size=6),
    magic=st.sampled_from([2, 2, 2, 1, 0]),
    codec=st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.GZIP, Codec.SNAPPY]),
    append_time_ms=st.sampled_from([None, None, 7_000]),
    gap=st.sampled_from([0, 0, 0, 5]),
)


def write_log(directory: Path, segments: Sequence[Sequence[BatchShape]]) -> list[SourceSegment]:
    offset = 0
    sources = []
    for batches in segments:
        base, data = offset, bytearray()
        for batch in batches:
            records = [
                Record(offset + n, time, key, value, headers if batch.magic == 2 else ())
                for n, (key, value, headers, time) in enumerate(batch.records)
            ]
            offset += len(records) + batch.gap
            if batch.magic == 2:
                data += build_batch(
                    records, codec=batch.codec, log_append_time_ms=batch.append_time_ms
                )
            else:
                data += build_message_set(
                    records, batch.magic, codec=batch.codec, log_append_time_ms=batch.append_time_ms
                )
        (directory / f"{base:020}.log").write_bytes(data)
        sources.append(SourceSegment(base, offset, len(data)))
    return sources


def what_the_rule_leaves(records: list[Record]) -> list[Record]:
    """The last record of each key; what has no key cannot stay."""
    last = {record.key: record.offset for record in records if record.key is not None}
    return [record for record in records if last.get(record.key) == record.offset]


def assert_sound(directory: Path) -> None:
    for path in directory.glob("*.log"):
        data = path.read_bytes()
        headers = list(walk(data))
        assert all(crc_is_valid(data, header) for header in headers)
        assert all(header.base_offset >= int(path.stem) for header in headers)
        assert {path.with_suffix(s).exists() for s in (".index", ".timeindex")} == {True}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(BATCHES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_one_pass_leaves_what_the_rule_leaves(segments: list[list[BatchShape]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        sources = write_log(directory, segments)
        before = read_back(directory)
        *groups, done = compact(REAL, replace(job_for(directory, sources, CONFIG), now_ms=NOW_MS))
        swap_in(directory, [each for each in groups if isinstance(each, CompactedGroup)])
        assert isinstance(done, CompactionDone) and done.clean_offset == sources[-1].next_offset
        assert_sound(directory)
        assert read_back(directory) == what_the_rule_leaves(before)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(BATCHES, min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(100, 200),
)
def test_many_passes_with_a_tiny_map_leave_the_same(
    segments: list[list[BatchShape]], memory_bytes: int
) -> None:
    """The map holds a few keys, so each pass gets only a little further."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        sources = write_log(directory, segments)
        before = read_back(directory)
        end, dirty, passes = sources[-1].next_offset, 0, 0
        while dirty < end:
            job = replace(
                job_for(directory, sources, CONFIG),
                now_ms=NOW_MS,
                first_dirty_offset=dirty,
                dedupe_buffer_bytes=memory_bytes,
            )
            *groups, done = compact(REAL, job)
            assert isinstance(done, CompactionDone) and done.clean_offset > dirty
            done_groups = [each for each in groups if isinstance(each, CompactedGroup)]
            sources = swap_in(directory, done_groups, sources)
            dirty = done.clean_offset
            passes += 1
        assert_sound(directory)
        assert read_back(directory) == what_the_rule_leaves(before)


def test_tombstones_of_format_2_go_after_their_horizon(tmp_path: Path) -> None:
    shape = BatchShape([(b"a", None, (), 0), (b"b", b"1", (), 0)], 2, Codec.NONE, None, 0)
    sources = write_log(tmp_path, [[shape]])
    for now_ms, keys in ((NOW_MS, 2), (NOW_MS + 999, 2), (NOW_MS + 1000, 1), (NOW_MS + 2000, 1)):
        job = replace(job_for(tmp_path, sources, CONFIG), now_ms=now_ms)
        sources = swap_in(
            tmp_path,
            [each for each in compact(REAL, job) if isinstance(each, CompactedGroup)],
            sources,
        )
        assert len(read_back(tmp_path)) == keys
        (header,) = walk((tmp_path / f"{0:020}.log").read_bytes())
        assert header.delete_horizon_ms == NOW_MS + 1000


@pytest.mark.parametrize(("age_s", "left"), [(0, [b"b"]), (5, [])])
def test_tombstones_of_old_formats_go_by_the_age_of_the_file(
    age_s: int, left: list[bytes], tmp_path: Path
) -> None:
    """Files not modified for `delete.retention.ms` before the clean head's newest one."""
    old = BatchShape([(b"b", None, (), 0)], 1, Codec.NONE, None, 0)
    new = BatchShape([(b"c", b"1", (), 0)], 1, Codec.NONE, None, 0)
    sources = write_log(tmp_path, [[old], [new], [new]])
    for source, modified in zip(sources, (100 - age_s, 100, 100), strict=True):
        os.utime(tmp_path / f"{source.base_offset:020}.log", (modified, modified))
    job = replace(job_for(tmp_path, sources, CONFIG), first_dirty_offset=2)
    swap_in(tmp_path, [each for each in compact(REAL, job) if isinstance(each, CompactedGroup)])
    assert [record.key for record in read_back(tmp_path) if record.value is None] == left


def test_small_segments_are_put_together_within_the_size_limit(tmp_path: Path) -> None:
    shape = BatchShape([(b"%d" % n, b"x" * 100, (), 0) for n in range(3)], 2, Codec.NONE, None, 0)
    sources = write_log(tmp_path, [[shape]] * 5)
    groups = [each for each in compact(REAL, job_for(tmp_path, sources, CONFIG))][:-1]
    assert [len(group.replaced) for group in groups if isinstance(group, CompactedGroup)] == [
        2,
        2,
        1,
    ]


def test_damage_is_never_given_a_new_crc(tmp_path: Path) -> None:
    shape = BatchShape([(b"a", b"1", (), 0), (b"a", b"2", (), 0)], 2, Codec.NONE, None, 0)
    sources = write_log(tmp_path, [[shape]])
    path = tmp_path / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptBatch, match="CRC is wrong"):
        list(compact(REAL, job_for(tmp_path, sources, CONFIG)))
    assert list(decode_all(path.read_bytes()))
