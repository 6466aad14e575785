from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.log.log import Log
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.recovery import rebuild_indexes, recover_segment

from ..logs import NOW_MS, a_batch, append, end_transaction, open_log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = open_log(tmp_path, segment_bytes=100_000)
    for number in range(12):
        append(
            log,
            a_batch(
                2,
                timestamp=NOW_MS + number % 5,
                producer_id=7,
                sequence=2 * number,
                transactional=True,
            ),
            leader_epoch=number // 4,
        )
    end_transaction(log, 7, commit=False, leader_epoch=2)
    log.active_segment.finish()
    return log


def test_recovery_finds_everything_again(log: Log, tmp_path: Path) -> None:
    segment = log.active_segment
    wanted = (
        segment.size_bytes,
        segment.offset_index.entries(),
        segment.time_index.entries(),
        segment.transaction_index.entries(),
    )
    producers = ProducerState(REAL, str(tmp_path))
    epochs = LeaderEpochs(REAL, str(tmp_path))
    assert recover_segment(segment, producers, epochs) == 0
    assert wanted == (
        segment.size_bytes,
        segment.offset_index.entries(),
        segment.time_index.entries(),
        segment.transaction_index.entries(),
    )
    assert list(producers.producers.values()) == log.producer_entries()
    assert producers.map_end_offset == log.log_end_offset
    assert epochs.entries() == log.epochs.entries()


def test_bytes_behind_the_end_are_cut_off(log: Log, tmp_path: Path) -> None:
    segment = log.active_segment
    path = Path(segment.log_file.path)
    content = path.read_bytes()
    path.write_bytes(content + b"\0" * 100)
    assert recover_segment(segment, ProducerState(REAL, str(tmp_path)), None) == 100
    assert path.read_bytes() == content


def test_indexes_come_from_the_headers_alone(log: Log) -> None:
    segment = log.active_segment
    wanted = segment.offset_index.entries(), segment.time_index.entries()
    for file in segment.each_file()[1:3]:
        Path(file.path).write_bytes(b"nonsense")
    rebuild_indexes(segment)
    assert (segment.offset_index.entries(), segment.time_index.entries()) == wanted
    assert Path(segment.each_file()[1].path).stat().st_size == 8 * len(wanted[0])


def test_a_segment_keeps_its_size_when_its_batches_are_bad(log: Log) -> None:
    segment = log.active_segment
    size = segment.size_bytes
    path = Path(segment.log_file.path)
    content = bytearray(path.read_bytes())
    content[500:600] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(CorruptBatch):
        rebuild_indexes(segment)
    assert segment.size_bytes == size
