"""Compaction does nothing because a transaction has ended, while that may be lost yet."""

from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.directory import clean_marker
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.compaction_candidates import candidate_of
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..logs import end_transaction
from ..managers import NOW_MS, ORDERS, append, opened

COMPACT = LogConfig(
    cleanup_policy=("compact",), segment_bytes=200, index_interval_bytes=100, file_delete_delay_ms=0
)


def fill(log: ManagedLog, count: int) -> None:
    """So many records, each of which has a segment of its own."""
    for number in range(count):
        append(log, b"%d" % number + b"." * 120, key=b"ab"[number % 2 :][:1])


def with_an_open_transaction(manager: LogManager) -> ManagedLog:
    """Every closed segment is durable; producer 9 has written offset 4 in a transaction."""
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log, 4)
    batch = build_batch(
        [Record(0, NOW_MS, b"a", b"x" * 120)],
        producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True,
    )  # fmt: skip
    log.append_as_leader(batch, 0, NOW_MS)
    fill(log, 4)
    manager.flush(log)
    return log


def stop_of(log: ManagedLog) -> int:
    return candidate_of(log, NOW_MS).first_uncleanable_offset


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_whose_end_may_be_lost_with_the_power_is_taken_for_open(
    tmp_path: Path, commit: bool
) -> None:
    """What it wrote may supersede others, or go, and then end the other way."""
    manager = opened(tmp_path)
    log = with_an_open_transaction(manager)
    end_transaction(log, 9, commit=commit)
    assert log.last_stable_offset == log.log_end_offset > log.recovery_point
    assert stop_of(log) == 4
    manager.flush(log)
    assert stop_of(log) == log.active_segment.base_offset
    manager.close()


def test_it_is_so_in_the_next_segments_too(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = with_an_open_transaction(manager)
    fill(log, 4)
    manager.flush(log)
    end_transaction(log, 9, commit=True)
    fill(log, 4)
    assert stop_of(log) == 4
    log.flush(log.log_end_offset - 5)
    assert stop_of(log) == 4
    log.flush(log.log_end_offset - 4)
    assert stop_of(log) > 4
    manager.close()


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_it_is_so_after_a_kill(tmp_path: Path, has_snapshot: bool) -> None:
    """What was open when the segment was closed stands in its snapshot, or is found again."""
    manager = opened(tmp_path)
    log = with_an_open_transaction(manager)
    manager.close()
    clean_marker.take(REAL, str(tmp_path))
    manager = opened(tmp_path, config=COMPACT)
    log = manager.get(ORDERS[0])
    assert log is not None
    end_transaction(log, 9, commit=True)
    manager.abandon()
    if not has_snapshot:
        log.producers.remove_snapshot(log.active_segment.base_offset)
    manager = opened(tmp_path, config=COMPACT)
    log = manager.get(ORDERS[0])
    assert log is not None
    log.update_high_watermark(log.log_end_offset)
    assert log.recovery_point < log.last_stable_offset == log.log_end_offset
    assert stop_of(log) == 4
    manager.flush(log)
    assert stop_of(log) == log.active_segment.base_offset
    manager.close()


def test_a_transaction_that_a_truncation_has_opened_again_is_open(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = with_an_open_transaction(manager)
    end_transaction(log, 9, commit=True)
    manager.flush(log)
    log.truncate_to(log.log_end_offset - 1, NOW_MS)
    end_transaction(log, 9, commit=False)
    assert stop_of(log) == 4
    manager.flush(log)
    assert stop_of(log) == log.active_segment.base_offset
    manager.close()
