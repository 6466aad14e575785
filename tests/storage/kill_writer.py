"""A process that writes to a data directory until it is killed, and how to check what it left.

`python kill_writer.py DIRECTORY SEED` opens the directory like a broker, with compaction in
its own child, and says on its standard output what it has promised: one line per append,
"topic log-end-offset". A record's content follows from its offset, so all
there is can be checked, promised or not.
"""

import random
import sys
import time
from pathlib import Path

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import crc_is_valid, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.compaction.process import CompactionProcess
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

TOPICS = ("kept", "compacted")
KEYS = 17
CODECS = (Codec.NONE, Codec.NONE, Codec.LZ4, Codec.GZIP)
SETTINGS = LogManagerConfig(
    initial_task_delay_ms=5,
    retention_check_interval_ms=20,
    recovery_point_interval_ms=10,
    log_start_interval_ms=10,
    high_watermark_interval_ms=10,
    cleaner_backoff_ms=10,
)


def config_of(topic: str) -> LogConfig:
    """Settings that make everything happen all the time."""
    if topic == "compacted":
        return LogConfig(
            cleanup_policy=("compact",),
            segment_bytes=4_000,
            index_interval_bytes=200,
            file_delete_delay_ms=5,
            min_cleanable_dirty_ratio=0.1,
        )
    return LogConfig(
        segment_bytes=4_000,
        index_interval_bytes=200,
        file_delete_delay_ms=5,
        retention_bytes=40_000,
    )


def record_at(offset: int, timestamp: int) -> Record:
    """The record that belongs at an offset."""
    value = b"%d:" % offset + b"-" * (offset % 53)
    return Record(offset, timestamp, b"%d" % (offset % KEYS), value)


def open_manager(directory: str) -> LogManager:
    manager = LogManager([directory], SETTINGS, compactor=CompactionProcess())
    manager.open(config_of, now_ms())
    return manager


def now_ms() -> int:
    return time.time_ns() // 1_000_000


# --- the writer ------------------------------------------------------------------------


def main(directory: str, seed: int) -> None:
    """Write until killed."""
    chance = random.Random(seed)
    manager = open_manager(directory)
    logs = [
        manager.create(TopicPartition(topic, 0), config_of(topic), now_ms()) for topic in TOPICS
    ]
    while True:
        log = chance.choice(logs)
        append(log, chance.randint(1, 5), chance.choice(CODECS))
        if chance.random() < 0.1:
            manager.flush(log)
        manager.background(now_ms())
        sys.stdout.write(f"{log.partition.topic} {log.log_end_offset}\n")
        sys.stdout.flush()


def append(log: ManagedLog, count: int, codec: Codec) -> None:
    """Append the next records in one batch, given offsets from 0 as clients do."""
    end, timestamp = log.log_end_offset, now_ms()
    records = [record_at(end + number, timestamp) for number in range(count)]
    for number, record in enumerate(records):
        record.offset = number
    log.append_as_leader(build_batch(records, codec=codec), 0, timestamp)
    log.update_high_watermark(log.log_end_offset)


# --- the check -------------------------------------------------------------------------


def check(directory: Path, promises: dict[str, int]) -> None:
    """Open what a killed writer has left; all that it promised, by topic, is there."""
    manager = open_manager(str(directory))
    try:
        assert manager.directories[0].is_online
        for topic, end in promises.items():
            log = manager.get(TopicPartition(topic, 0))
            assert log is not None and log.log_end_offset >= end
            check_log(log)
    finally:
        manager.abandon()


def check_log(log: ManagedLog) -> None:
    """Every record is the one that belongs there, none is missing, indexes find them all."""
    end, offsets = log.log_end_offset, []
    for segment in log.segments:
        data = segment.slice(0, segment.size_bytes).read() if segment.exists else b""
        for header in walk(data):
            assert crc_is_valid(data, header)
            place = segment.locate(header.last_offset)
            assert place is not None and place[0] == header.position
            for record in decode_batch(data, header):
                assert record == record_at(record.offset, record.timestamp)
                offsets.append(record.offset)
    if log.config.compact:
        assert offsets == sorted(set(offsets))
        assert set(range(max(0, end - KEYS), end)) <= set(offsets)
    else:
        start = log.segments.first.base_offset
        assert log.log_start_offset <= start
        assert offsets == list(range(start, end))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
