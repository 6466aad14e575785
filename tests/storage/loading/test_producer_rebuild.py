from contextlib import closing
from dataclasses import replace
from pathlib import Path

from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.producers.state import SOON_REPLAYED_BYTES, ProducerState

from ..logs import NOW_MS, a_batch, append, file_name, names, open_log

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
    """A long log gets an empty one for the next time, a short one is soon replayed."""
    (tmp_path / "long").mkdir()
    log = filled(tmp_path)
    for offset in list(log.producers.snapshots):
        log.producers.remove_snapshot(offset)
    producers = rebuilt(log, 16, was_clean=True)
    assert (producers.producers, producers.map_end_offset, producers.snapshots) == ({}, 16, [])
    log = open_log(tmp_path / "long", segment_bytes=1 << 30, max_message_bytes=1 << 30)
    append(log, a_batch(1, value=bytes(SOON_REPLAYED_BYTES)))
    producers = rebuilt(log, 1, was_clean=True)
    assert (producers.producers, producers.snapshots) == ({}, [1])


def test_a_clean_stop_of_a_short_log_without_producers_makes_no_file(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(2))
    before = names(tmp_path)
    log.close()
    assert names(tmp_path) == before
    again = open_log(tmp_path)
    assert (again.log_end_offset, again.producers.map_end_offset) == (2, 2)
    again.close()
    assert names(tmp_path) == before


def test_a_clean_stop_keeps_its_producers_and_a_crash_after_it_finds_them(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(2))
    log.close()
    log = open_log(tmp_path)
    append(log, a_batch(2, producer_id=7, sequence=0))
    log.flush()
    log.close_files()
    log = open_log(tmp_path, clean=False)
    assert list(log.producers.producers) == [7]
    log.close()
    log = open_log(tmp_path)
    assert (list(log.producers.producers), log.producers.snapshots) == ([7], [4])


def test_a_partition_is_listed_once_when_it_is_opened(tmp_path: Path) -> None:
    listed: list[str] = []

    def list_directory(path: str) -> list[str]:
        listed.append(path)
        return REAL.list_directory(path)

    path, topic = tmp_path / "data", TopicPartition("t", 0)
    config = LogConfig()
    with closing(LogManager([str(path)])) as manager:
        manager.open(lambda _: config, NOW_MS)
        append(manager.create(topic, config, NOW_MS), a_batch(2))
    manager = LogManager([str(path)], fs=replace(REAL, list_directory=list_directory))
    with closing(manager):
        manager.open(lambda _: config, NOW_MS)
    assert listed.count(f"{path}/t-0") == 1
