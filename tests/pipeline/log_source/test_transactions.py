"""What was aborted and what is open, from a directory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.producers.entry import ProducerEntry
from barnabas.storage.producers.snapshot import build_snapshot
from barnabas.storage.segment.transaction_index import ENTRY

from .reads import a_batch, a_marker, offsets, write_segment

COMMITTED = {"kafka__isolation__level": "read_committed"}


def of_producer(producer_id: int, first: int, **how: Any) -> bytes:
    return a_batch(
        first, 1, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True,
        **how,
    )  # fmt: skip


def two_segments(path: Path) -> Path:
    """Producer 1 aborts over the roll, 2 commits, 3 leaves its transaction open at offset 6."""
    directory = path / "t-0"
    write_segment(directory, 0, of_producer(1, 0), of_producer(2, 1), a_batch(2, 1))
    write_segment(
        directory, 3,
        of_producer(1, 3), a_marker(4, 1, commit=False), a_marker(5, 2, commit=True),
        of_producer(3, 6), a_batch(7, 2),
    )  # fmt: skip
    return directory


def test_without_indexes_and_snapshots_the_batches_say_all(tmp_path: Path) -> None:
    two_segments(tmp_path)
    assert offsets(tmp_path) == [0, 1, 2, 3, 6, 7, 8]
    assert offsets(tmp_path, **COMMITTED) == [1, 2]


def test_the_last_stable_offset_is_latest(tmp_path: Path) -> None:
    two_segments(tmp_path)
    with (tmp_path / "t-0" / f"{3:020d}.log").open("ab") as file:
        file.write(a_marker(9, 3, commit=True))
    assert offsets(tmp_path, **COMMITTED) == [1, 2, 6, 7, 8]


def test_a_snapshot_says_what_was_open_before_it(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    entries = [
        ProducerEntry(producer, 0, current_transaction_first_offset=first)
        for producer, first in ((1, 0), (2, 1))
    ]
    (directory / f"{3:020d}.snapshot").write_bytes(build_snapshot(entries))
    (directory / f"{0:020d}.log").write_bytes(b"")
    assert offsets(tmp_path, **COMMITTED) == []
    assert offsets(tmp_path, **COMMITTED, failOnDataLoss="false") == []
    with (directory / f"{3:020d}.log").open("ab") as file:
        file.write(a_marker(9, 3, commit=True))
    assert offsets(tmp_path, **COMMITTED) == [6, 7, 8]


def test_the_index_knows_those_that_the_walk_does_not_reach(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    (directory / f"{9:020d}.snapshot").write_bytes(
        build_snapshot([ProducerEntry(3, 0, current_transaction_first_offset=6)])
    )
    assert offsets(tmp_path, **COMMITTED) == [0, 1, 2, 3]  # a lie: nothing is known of the abort
    (directory / f"{3:020d}.txnindex").write_bytes(ENTRY.pack(0, 1, 0, 4, 1))
    assert offsets(tmp_path, **COMMITTED) == [1, 2]


@pytest.mark.parametrize("damaged", [b"x", ENTRY.pack(7, 1, 0, 4, 1), ENTRY.pack(0, 1, 0, 2, 1)])
def test_a_damaged_index_is_made_up_for_by_the_batches(damaged: bytes, tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    (directory / f"{9:020d}.snapshot").write_bytes(build_snapshot([]))
    (directory / f"{3:020d}.txnindex").write_bytes(damaged)
    assert offsets(tmp_path, **COMMITTED) == [1, 2]


def test_a_damaged_snapshot_is_passed_over(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    (directory / f"{9:020d}.snapshot").write_bytes(b"\xff" * 60)
    assert offsets(tmp_path, **COMMITTED) == [1, 2]


def test_a_transaction_is_undecided_above_the_high_watermark(tmp_path: Path) -> None:
    two_segments(tmp_path)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    known = {"highWatermark": "checkpoint"}
    assert offsets(tmp_path, **known) == [0, 1, 2, 3]
    assert offsets(tmp_path, **known, **COMMITTED) == []
