"""A transaction index that is found damaged in an open log is made anew from the batches."""

from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.file_names import TRANSACTION_INDEX
from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment.transaction_index import TransactionIndex

from ..logs import end_transaction
from ..managers import NOW_MS, ORDERS, append, opened


@pytest.mark.parametrize("has_snapshots", [True, False], ids=["snapshots", "no snapshots"])
@pytest.mark.parametrize("damage", [b"\7", None], ids=["damaged", "gone"])
def test_it_says_what_it_said(tmp_path: Path, damage: bytes | None, has_snapshots: bool) -> None:
    """Flow: a transaction begins in one segment and is aborted in another, with more around."""
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(segment_bytes=400), NOW_MS)
    for sequence in range(3):
        batch = build_batch(
            [Record(0, NOW_MS, b"k", b"x" * 120)],
            producer_id=9, producer_epoch=0, base_sequence=sequence, is_transactional=True,
        )  # fmt: skip
        log.append_as_leader(batch, 0, NOW_MS)
        append(log, b"x" * 120)
    end_transaction(log, 9, commit=False)
    for _ in range(4):
        append(log, b"x" * 120)
    (segment,) = (each for each in log.segments if each.transaction_index.exists)
    assert segment.base_offset > 0 and segment is not log.active_segment
    log.flush()
    path = Path(segment.transaction_index.file.path)
    assert path.name.endswith(TRANSACTION_INDEX)
    entries, content = segment.transaction_index.entries(), path.read_bytes()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage + content[len(damage) :])
    if not has_snapshots:
        for offset in list(log.producers.snapshots):
            log.producers.remove_snapshot(offset)
    segment.transaction_index.close()
    segment.transaction_index = TransactionIndex(
        log.store.files, str(path), segment.base_offset, exists=True
    )
    assert log.aborted_in(segment, NOW_MS) == entries and len(entries) == 1
    assert path.read_bytes() == content
    manager.close()
    again = opened(tmp_path)
    assert [log.load_report.notes for log in again] == [[]]
    again.close()
