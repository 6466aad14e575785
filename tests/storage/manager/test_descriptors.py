"""A process that has no descriptor left: nothing is wrong with the disk, and all goes on later."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.open_files import CachedFile, FileCache
from barnabas.storage.errors import TooManyOpenFiles
from barnabas.storage.log_config import LogConfig

from ..full_table import FullTable
from ..managers import NOW_MS, ORDERS, LaterWorker, append, opened, values_of


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_a_write_without_a_descriptor_is_refused_and_nothing_else(
    tmp_path: Path, code: int
) -> None:
    table = FullTable(code)
    manager = opened(tmp_path, fs=table.fs)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    left, table.left = table.left, 0
    with pytest.raises(TooManyOpenFiles, match=r"orders-0: .*open files"):
        append(log, b"refused")
    with pytest.raises(TooManyOpenFiles, match=r"Too many|open files"):
        manager.create(ORDERS[1], LogConfig(), NOW_MS, topic_id=bytes(range(16)))
    assert manager.directories[0].is_online
    table.left = left
    append(log, b"kept")
    manager.create(ORDERS[1], LogConfig(), NOW_MS, topic_id=bytes(range(16)))
    assert values_of(log) == [b"kept"]
    manager.close()


def test_a_flush_without_a_descriptor_is_done_later(tmp_path: Path) -> None:
    table, worker = FullTable(), LaterWorker()
    manager = opened(tmp_path, fs=table.fs, worker=worker)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"kept")
    done: list[int] = []
    manager.flush(log, lambda: done.append(log.recovery_point))
    left, table.left = table.left, 0
    worker.do_all()
    assert not done and manager.directories[0].is_online
    table.left = left
    manager.background(NOW_MS)
    worker.do_all()
    assert done == [1]
    manager.close()


@pytest.mark.parametrize("descriptors", [16, 40, 100])
def test_hundreds_of_segments_are_flushed_with_few_descriptors(
    tmp_path: Path, descriptors: int
) -> None:
    table = FullTable()
    manager = opened(tmp_path, fs=table.fs)
    config = LogConfig(segment_bytes=100, index_interval_bytes=100)
    table.left = descriptors
    log = manager.create(ORDERS[0], config, NOW_MS)
    for number in range(400):
        append(log, b"%d" % number)
    assert len(log.segments) == 400
    done: list[int] = []
    manager.flush(log, lambda: done.append(log.recovery_point))
    assert done == [400]
    manager.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_many_logs_share_few_descriptors(tmp_path: Path) -> None:
    table = FullTable()
    manager = opened(tmp_path, fs=table.fs)
    logs = [
        manager.create(TopicPartition("orders", number), LogConfig(), NOW_MS, topic_id=b"i" * 16)
        for number in range(50)
    ]
    table.left = 20
    for epoch in range(3):
        for log in logs:
            batch = build_batch([Record(0, NOW_MS, b"k", b"%d" % epoch)])
            log.append_as_leader(batch, epoch, NOW_MS)
            log.update_high_watermark(log.log_end_offset)
    assert all(values_of(log) == [b"0", b"1", b"2"] for log in logs)
    for log in logs:
        manager.flush(log)
    assert {log.recovery_point for log in logs} == {3}
    manager.close()


def test_another_thread_takes_no_descriptor_from_the_one_that_reads(tmp_path: Path) -> None:
    table = FullTable()
    files = FileCache(table.fs)
    kept = [CachedFile(files, str(tmp_path / f"{number}")) for number in range(20)]
    opened_files = [file.create() for file in kept]
    table.left = 0
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(files.fs.open, str(tmp_path / "0"), os.O_RDONLY, 0)
        with pytest.raises(OSError, match="open files"):
            future.result()
    assert [file.opened for file in kept] == opened_files
