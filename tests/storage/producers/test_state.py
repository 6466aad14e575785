from pathlib import Path

from barnabas.storage.disk.fs import REAL
from barnabas.storage.producers.entry import UNKNOWN_MS, CompletedTransaction, ProducerEntry
from barnabas.storage.producers.snapshot import parse_snapshot
from barnabas.storage.producers.state import ProducerState

HOUR_MS = 3_600_000


def unknown(_: int) -> int:
    """When a record has been written."""
    return UNKNOWN_MS


def a_state(folder: Path, **producers: int) -> ProducerState:
    """Producers by name `p<id>` with the offset of their only record."""
    state = ProducerState(REAL, str(folder))
    for name, offset in producers.items():
        add(state, int(name[1:]), offset)
    return state


def add(
    state: ProducerState, producer_id: int, offset: int, *, in_transaction: bool = False
) -> None:
    entry = state.producers.get(producer_id) or ProducerEntry(producer_id)
    entry.add_batch(0, entry.last_sequence + 1, offset, offset, offset * 1_000)
    if in_transaction and entry.current_transaction_first_offset < 0:
        entry.current_transaction_first_offset = offset
        state.ongoing[offset] = producer_id
    state.replace(entry)
    state.map_end_offset = offset + 1


def end(state: ProducerState, producer_id: int, marker: int, *, is_abort: bool = False) -> int:
    entry = state.producers[producer_id]
    completed = entry.end_transaction(0, 0, marker, 0, is_abort=is_abort)
    assert isinstance(completed, CompletedTransaction)
    return state.complete(completed)


def test_the_earliest_transaction_bounds_what_is_stable(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    assert state.first_unstable_offset() is None
    add(state, 1, 10, in_transaction=True)
    add(state, 2, 11, in_transaction=True)
    assert state.first_unstable_offset() == 10
    assert end(state, 1, 12) == 11
    assert state.first_unstable_offset() == 10
    assert not state.settle_below(12)
    assert state.settle_below(13)
    assert state.first_unstable_offset() == 11
    assert end(state, 2, 13) == 14
    assert state.settle_below(14)
    assert state.first_unstable_offset() is None


def test_an_ended_transaction_waits_for_its_replicas(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    add(state, 1, 10, in_transaction=True)
    end(state, 1, 11)
    add(state, 2, 12, in_transaction=True)
    assert state.first_unstable_offset() == 10
    assert not state.is_empty


def test_a_snapshot_is_taken_once_per_offset(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5)
    path = state.take_snapshot()
    assert path == str(tmp_path / "00000000000000000006.snapshot")
    assert parse_snapshot(Path(path).read_bytes()) == list(state.producers.values())
    assert state.take_snapshot() is None
    assert state.snapshots == [6]


def test_nothing_written_is_nothing_to_save(tmp_path: Path) -> None:
    assert a_state(tmp_path).take_snapshot() is None


def test_reloads_from_the_newest_snapshot_that_is_sound(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5)
    state.take_snapshot()
    add(state, 2, 8, in_transaction=True)
    state.take_snapshot()
    add(state, 3, 20)
    state.take_snapshot()
    (tmp_path / f"{21:020d}.snapshot").write_bytes(b"broken")

    again = ProducerState(REAL, str(tmp_path), state.snapshots)
    again.truncate_and_reload(0, 30, 0, HOUR_MS, unknown)
    assert list(again.producers) == [1, 2]
    assert again.ongoing == {8: 2}
    assert again.map_end_offset == 9
    assert again.snapshots == [6, 9]
    assert not (tmp_path / f"{21:020d}.snapshot").exists()


def test_reloading_drops_snapshots_outside_of_the_log(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5)
    for offset in (6, 9, 12):
        state.map_end_offset = offset
        state.take_snapshot()
    state.truncate_and_reload(6, 9, 0, HOUR_MS, unknown)
    assert state.snapshots == [9]
    assert state.map_end_offset == 9
    state.truncate_and_reload(9, 9, 0, HOUR_MS, unknown)
    assert state.snapshots == []
    assert 1 in state.producers


def test_reloading_leaves_expired_producers_behind(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5, p2=6)
    add(state, 3, 7, in_transaction=True)
    state.take_snapshot()
    state.map_end_offset = 0
    state.truncate_and_reload(0, 8, 5_000 + HOUR_MS, HOUR_MS, unknown)
    assert list(state.producers) == [2, 3]


def test_idle_producers_expire_unless_a_transaction_is_open(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5, p2=6)
    add(state, 3, 4, in_transaction=True)
    assert state.remove_expired(5_999 + HOUR_MS, HOUR_MS) == [1]
    assert set(state.producers) == {2, 3}


def test_stray_snapshots_go_but_the_one_at_the_tip(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=1)
    for offset in (3, 5, 10, 12, 15):
        state.map_end_offset = offset
        state.take_snapshot()
    state.remove_stray_snapshots([0, 5, 10])
    assert state.snapshots == [5, 10, 15]
    state.remove_stray_snapshots([0, 20])
    assert state.snapshots == []
    assert not list(tmp_path.iterdir())


def test_setting_a_snapshot_aside(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5)
    path = state.take_snapshot()
    assert state.set_aside_snapshot(6) == f"{path}.deleted"
    assert state.set_aside_snapshot(6) is None
    assert [each.name for each in tmp_path.iterdir()] == [f"{6:020d}.snapshot.deleted"]


def test_starting_anew(tmp_path: Path) -> None:
    state = a_state(tmp_path, p1=5)
    add(state, 2, 8, in_transaction=True)
    state.take_snapshot()
    state.start_at(100)
    assert (state.producers, state.ongoing, state.snapshots) == ({}, {}, [])
    assert state.map_end_offset == 100
    assert state.take_snapshot() == str(tmp_path / f"{100:020d}.snapshot")


def test_how_long_the_oldest_transaction_is_idle(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    assert state.oldest_transaction_timestamp() == -1
    add(state, 1, 10, in_transaction=True)
    add(state, 2, 11, in_transaction=True)
    add(state, 1, 12, in_transaction=True)
    assert state.oldest_transaction_timestamp() == 12_000
    assert state.ongoing == {10: 1, 11: 2}
