"""A segment whose end a power cut has taken, though what was written after it is there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.directory import checkpoints
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..managers import NOW_MS, ORDERS, append, records_of

SIZE = len(build_batch([Record(0, NOW_MS, b"k", b"v")]))
DELETE = LogConfig(segment_bytes=3 * SIZE)
COMPACT = replace(DELETE, cleanup_policy=("compact",))
FOLDER = f"{ORDERS[0].topic}-{ORDERS[0].partition}"


def opened(tmp_path: Path, config: LogConfig = DELETE, replicas: int = 3) -> LogManager:
    manager = LogManager([str(tmp_path)])
    manager.open(
        lambda topic: config, NOW_MS, cluster_id="c", replicas_of=lambda partition, found: replicas
    )
    return manager


def offsets_of(log: ManagedLog) -> list[int]:
    return [record.offset for record in records_of(log)]


def begun(tmp_path: Path) -> None:
    """Nine batches of a record in segments of three, written by a broker that was killed."""
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], DELETE, NOW_MS)
    for _ in range(9):
        append(log, b"v")
    manager.abandon()
    assert len(list((tmp_path / FOLDER).glob("*.log"))) == 3


def reopened(tmp_path: Path, config: LogConfig = DELETE, replicas: int = 3) -> ManagedLog:
    log = opened(tmp_path, config, replicas).get(ORDERS[0])
    assert log is not None
    return log


def shorten(tmp_path: Path, base_offset: int, records: int) -> None:
    path = tmp_path / FOLDER / f"{base_offset:020}.log"
    path.write_bytes(path.read_bytes()[: records * SIZE])


@pytest.mark.parametrize(
    ("base_offset", "records", "end"), [(0, 0, 0), (0, 1, 1), (3, 0, 3), (3, 2, 5)]
)
def test_the_log_ends_where_records_are_missing(
    tmp_path: Path, base_offset: int, records: int, end: int
) -> None:
    begun(tmp_path)
    shorten(tmp_path, base_offset, records)
    log = reopened(tmp_path)
    assert offsets_of(log) == list(range(end))
    assert log.log_end_offset == end
    assert log.load_report.notes[0] == f"offsets {end} to {base_offset + 2} are missing"
    append(log, b"v")
    assert offsets_of(log) == list(range(end + 1))


@pytest.mark.parametrize(
    "known", [{"config": COMPACT}, {"replicas": 1}], ids=["compacted", "the only replica"]
)
def test_what_follows_is_kept_where_a_gap_says_nothing_or_nobody_else_has_it(
    tmp_path: Path, known: Mapping[str, LogConfig | int]
) -> None:
    begun(tmp_path)
    shorten(tmp_path, 0, 1)
    log = reopened(tmp_path, **known)  # type: ignore[arg-type]
    assert offsets_of(log) == [0, 3, 4, 5, 6, 7, 8]


def test_what_was_compacted_once_may_have_gaps(tmp_path: Path) -> None:
    begun(tmp_path)
    shorten(tmp_path, 0, 1)
    checkpoints.write_offsets(REAL, str(tmp_path / checkpoints.CLEANER), {ORDERS[0]: 3})
    assert offsets_of(reopened(tmp_path)) == [0, 3, 4, 5, 6, 7, 8]


def test_what_is_missing_below_the_log_start_is_not_missed(tmp_path: Path) -> None:
    begun(tmp_path)
    shorten(tmp_path, 0, 1)
    checkpoints.write_offsets(REAL, str(tmp_path / checkpoints.LOG_START), {ORDERS[0]: 3})
    log = reopened(tmp_path)
    assert (log.log_start_offset, log.log_end_offset) == (3, 9)
