from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import BatchHeader, parse_header
from barnabas.storage.batch.records import Record
from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import OutOfOrderSequence
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import ProducerUpdates, marker_of, replay

from ..logs import NOW_MS


def data(
    offset: int, sequence: int, producer_id: int = 7, *, transactional: bool = True
) -> tuple[bytes, BatchHeader]:
    batch = build_batch(
        [Record(offset, NOW_MS, b"k", b"v")],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return bytes(batch), parse_header(batch)


def marker(offset: int, *, commit: bool, producer_id: int = 7) -> tuple[bytes, BatchHeader]:
    batch = build_end_transaction_marker(
        EndTransactionMarker(commit, 4),
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        timestamp_ms=NOW_MS,
    )
    return bytes(batch), parse_header(batch)


@pytest.fixture
def state(tmp_path: Path) -> ProducerState:
    return ProducerState(REAL, str(tmp_path))


def test_nothing_changes_before_the_commit(state: ProducerState) -> None:
    updates = ProducerUpdates(state, AppendOrigin.CLIENT)
    updates.add(*data(10, 0))
    assert (state.producers, state.ongoing) == ({}, {})
    assert updates.commit() == []
    assert state.producers[7].last_sequence == 0
    assert state.ongoing == {10: 7}


def test_a_batch_that_breaks_a_rule_leaves_no_trace(state: ProducerState) -> None:
    first = ProducerUpdates(state, AppendOrigin.CLIENT)
    first.add(*data(10, 0))
    first.commit()
    known = state.producers[7].copy()
    second = ProducerUpdates(state, AppendOrigin.CLIENT)
    second.add(*data(11, 1))
    with pytest.raises(OutOfOrderSequence):
        second.add(*data(12, 5))
    assert state.producers[7] == known


def test_what_a_leader_accepted_is_taken_as_it_is(state: ProducerState) -> None:
    updates = ProducerUpdates(state, AppendOrigin.REPLICATION)
    updates.add(*data(10, 5))
    updates.add(*data(11, 99))
    updates.commit()
    assert state.producers[7].last_sequence == 99


def test_transactions_that_begin_and_end_in_one_set(state: ProducerState) -> None:
    updates = ProducerUpdates(state, AppendOrigin.REPLICATION)
    updates.add(*data(10, 0))
    updates.add(*data(11, 0, producer_id=8))
    updates.add(*marker(12, commit=False))
    updates.add(*data(13, 1))
    updates.add(*marker(14, commit=True))
    ended = updates.commit()
    assert [(each.first_offset, each.last_offset, each.is_aborted) for each, _ in ended] == [
        (10, 12, True), (13, 14, False)
    ]  # fmt: skip
    assert [stable for _, stable in ended] == [11, 11]
    assert state.ongoing == {11: 8}
    assert state.producers[7].coordinator_epoch == 4


def test_only_transaction_markers_mean_something(state: ProducerState) -> None:
    batch, header = marker(5, commit=True)
    found = marker_of(batch, header)
    assert found is not None and found.is_commit
    other = build_batch(
        [Record(5, NOW_MS, b"\0\0\0\5", b"")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=-1,
        is_control=True,
    )
    assert marker_of(other, parse_header(other)) is None
    updates = ProducerUpdates(state, AppendOrigin.COORDINATOR)
    updates.add(other, parse_header(other))
    updates.commit()
    assert state.producers == {}


def test_a_replay_leads_to_what_the_appends_led_to(tmp_path: Path) -> None:
    batches = [
        data(0, 0, 1, transactional=False),
        data(1, 0, 7),
        data(2, 1, 1, transactional=False),
        data(3, 0, 8),
        *(data(offset, offset, 7) for offset in range(4, 11)),
        marker(11, commit=False, producer_id=7),
        data(12, 11, 7),
        marker(13, commit=True, producer_id=8),
    ]
    appended, replayed = (ProducerState(REAL, str(tmp_path)) for _ in range(2))
    for buffer, header in batches:
        updates = ProducerUpdates(appended, AppendOrigin.REPLICATION)
        updates.add(buffer, header)
        assert replay(replayed, buffer, header) == updates.commit()
    assert replayed.producers == appended.producers
    assert replayed.ongoing == appended.ongoing == {12: 7}
    assert replayed.first_unstable_offset() == appended.first_unstable_offset() == 1
