from pathlib import Path

from barnabas.storage.disk.fs import REAL
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.log.log import Log
from barnabas.storage.producers.state import ProducerState

from ..logs import NOW_MS, a_batch, append, file_name, open_log

HOUR_MS = 3_600_000
SIZE = len(a_batch(2))


def filled(folder: Path) -> Log:
    """Producer n writes batch n, at 2 n; segments of three batches."""
    log = open_log(folder, segment_bytes=3 * SIZE)
    for number in range(8):
        append(log, a_batch(2, producer_id=number, sequence=0))
    return log


def rebuilt(log: Log, end: int, *, start: int = 0, was_clean: bool = False) -> ProducerState:
    producers = ProducerState(REAL, log.directory, log.producers.snapshots)
    rebuild_producers(producers, log.segments, start, end, NOW_MS, HOUR_MS, was_clean=was_clean)
    return producers


def test_from_the_newest_snapshot_and_what_follows(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.producers.snapshots == [6, 12]
    producers = rebuilt(log, 16)
    assert list(producers.producers) == list(range(8))
    assert (producers.map_end_offset, producers.snapshots) == (16, [6, 12, 16])


def test_whatever_an_index_says(tmp_path: Path) -> None:
    """A power cut may leave holes in it, and an opening must not end with that."""
    log = open_log(tmp_path, index_interval_bytes=0)
    for number in range(8):
        append(log, a_batch(2, producer_id=number, sequence=0))
    log.close()
    log = open_log(tmp_path)
    path = tmp_path / "t-0" / file_name(0, "index")
    path.write_bytes(path.read_bytes()[:-4] + (7).to_bytes(4, "big"))
    for offset in list(log.producers.snapshots):
        log.producers.remove_snapshot(offset)
    assert list(rebuilt(log, 16, start=15).producers) == [7]


def test_a_batch_that_cannot_be_read_ends_no_opening(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.close()
    path = tmp_path / "t-0" / file_name(6, "log")
    path.write_bytes(path.read_bytes()[:-10])
    log = open_log(tmp_path)
    for offset in list(log.producers.snapshots):
        log.producers.remove_snapshot(offset)
    producers = rebuilt(log, 16)
    assert list(producers.producers) == [0, 1, 2, 3, 4, 6, 7]
    assert len(producers.damages) == 1


def test_up_to_an_offset(tmp_path: Path) -> None:
    producers = rebuilt(filled(tmp_path), 10)
    assert list(producers.producers) == list(range(5))
    assert producers.snapshots == [6, 10]


def test_without_snapshots_from_the_log_start(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for offset in list(log.producers.snapshots):
        log.producers.remove_snapshot(offset)
    producers = rebuilt(log, 16, start=4)
    assert list(producers.producers) == list(range(2, 8))
    assert producers.snapshots == [6, 12, 16]


def test_after_a_clean_stop_without_snapshots_nothing_is_read(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for offset in list(log.producers.snapshots):
        log.producers.remove_snapshot(offset)
    producers = rebuilt(log, 16, was_clean=True)
    assert producers.producers == {}
    assert producers.snapshots == [6, 12, 16]
