"""A data directory that we write, with everything in it that a log can hold.

What each partition's records are is kept beside it, so that whoever else reads the files can
be compared.
"""

from collections.abc import Callable
from pathlib import Path

from partition_writer import HEADERS, NOW_MS, PartitionWriter, Written, sample

from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.records import Record
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager

SMALL = {"segment.bytes": "3000", "index.interval.bytes": "200"}
COMPACTED = SMALL | {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "file.delete.delay.ms": "0",
}
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "codecs": (len(Codec), {}),
    "recompressed": (2, {"compression.type": "zstd"}),
    "appendtime": (1, SMALL | {"message.timestamp.type": "LogAppendTime"}),
    "formats": (3, SMALL),
    "idempotent": (1, SMALL),
    "transactions": (2, SMALL),
    "compacted": (2, COMPACTED),
    "epochs": (1, SMALL),
    "trimmed": (1, SMALL),
    "large": (1, {}),
    "empty": (1, {}),
}
"""Partition count and settings of each topic."""
FORMAT_VERSIONS = ("0.9.0", "0.10.0", "3.0")


Contents = dict[TopicPartition, Written]


def write_data_directory(path: Path) -> Contents:
    """Write all of `TOPICS`; what each partition holds."""
    manager = LogManager([str(path)], LogManagerConfig())
    configs = {
        topic: LogConfig().with_settings(settings) for topic, (_, settings) in TOPICS.items()
    }
    manager.open(configs.__getitem__, NOW_MS)
    writers: dict[TopicPartition, PartitionWriter] = {}
    for topic, (partitions, _) in TOPICS.items():
        for partition in (TopicPartition(topic, number) for number in range(partitions)):
            if topic != "formats":
                log = manager.create(partition, configs[topic], NOW_MS)
                writers[partition] = PartitionWriter(log)
                FILL[topic](writers[partition], partition.partition)
                log.update_high_watermark(log.log_end_offset)
    _compact(manager)
    contents = {partition: writer.written() for partition, writer in writers.items()}
    manager.close()
    return contents | _write_old_formats(path)


def _compact(manager: LogManager) -> None:
    """Let time pass until the compactor has had every log that is dirty, and files are gone."""
    now_ms = NOW_MS + 1_000_000
    for _ in range(20):
        now_ms += 60_000
        while manager.background(now_ms) <= now_ms:
            pass


# --- what goes into each topic -------------------------------------------------------------


def _codecs(writer: PartitionWriter, number: int) -> None:
    for count in (1, 10, 100):
        writer.append(sample(count), codec=list(Codec)[number])


def _recompressed(writer: PartitionWriter, number: int) -> None:
    for count in (1, 10, 100):
        writer.append(sample(count), codec=(Codec.NONE, Codec.GZIP)[number])


def _many(writer: PartitionWriter, number: int) -> None:
    for count in range(40):
        writer.append(sample(1 + count % 7))


def _idempotent(writer: PartitionWriter, number: int) -> None:
    for count in range(40):
        writer.append(sample(1 + count % 7), producer_id=(4000, 70_001, 4000)[count % 3])


def _transactions(writer: PartitionWriter, number: int) -> None:
    """Two producers whose transactions overlap, a plain one between them; one left open."""
    writer.append(sample(3))
    for count in range(12):
        is_commit = count % 3 > 0
        word = "value" if is_commit else "aborted"
        writer.append(sample(2, word), producer_id=7, is_transactional=True)
        writer.append(sample(5, "value"), producer_id=8, is_transactional=True)
        writer.append(sample(1))
        writer.append(sample(4, word), producer_id=7, is_transactional=True, codec=Codec.LZ4)
        writer.end_transaction(7, is_commit=is_commit)
        writer.append(sample(1, "value"), producer_id=8, is_transactional=True)
        writer.end_transaction(8, is_commit=True)
    if number == 1:
        writer.append(sample(3, "open"), producer_id=9, is_transactional=True)
        writer.append(sample(3))


def _compacted(writer: PartitionWriter, number: int) -> None:
    """Twenty keys written again and again, some deleted in the end; transactions in 1."""
    for count in range(30):
        records = [
            Record(
                0,
                NOW_MS + count,
                b"key-%d" % ((count * 3 + index) % 20),
                None if count == 25 else b"value %d %d" % (count, index),
                HEADERS,
            )
            for index in range(5)
        ]
        is_aborted = number == 1 and count % 4 == 1
        if number == 0:
            writer.append(records, codec=Codec.ZSTD if count % 2 else Codec.NONE)
        elif count % 4 > 1:
            writer.append(records)
        else:
            for record in records:
                if is_aborted:
                    record.value = b"aborted"
            writer.append(records, producer_id=7, is_transactional=True)
            writer.end_transaction(7, is_commit=not is_aborted)
    writer.survives = lambda records: _survivors(writer.log, records)


def _survivors(log: Log, records: list[Record]) -> list[Record]:
    """The last record of each key below the active segment, and all of those in it.

    Aborted records do not count and are gone.
    """
    first_dirty = log.active_segment.base_offset
    last = {
        record.key: record
        for record in records
        if record.offset < first_dirty and record.value != b"aborted"
    }
    return [
        record for record in records if record.offset >= first_dirty or last[record.key] is record
    ]


def _epochs(writer: PartitionWriter, number: int) -> None:
    for count in range(20):
        writer.append(sample(3), epoch=count // 10)


def _trimmed(writer: PartitionWriter, number: int) -> None:
    _many(writer, number)
    log = writer.log
    log.update_high_watermark(log.log_end_offset)
    third = list(log.segments)[2].base_offset
    assert log.maybe_increment_log_start_offset(third + 5)
    log.delete_old_segments(2, NOW_MS)


def _large(writer: PartitionWriter, number: int) -> None:
    for _ in range(50):
        writer.append(sample(100))
    writer.append([Record(0, NOW_MS, b"big", b"x" * 900_000)])
    writer.append(sample(5))


FILL: dict[str, Callable[[PartitionWriter, int], None]] = {
    "codecs": _codecs,
    "recompressed": _recompressed,
    "appendtime": _many,
    "idempotent": _idempotent,
    "transactions": _transactions,
    "compacted": _compacted,
    "epochs": _epochs,
    "trimmed": _trimmed,
    "large": _large,
    "empty": lambda writer, number: None,
}


def _write_old_formats(path: Path) -> Contents:
    """Partition 0 in format 0, 1 in format 1, 2 in all three one after the other.

    Only a broker whose inter-broker protocol is below 3.0 keeps topics in old formats.
    """
    contents = {}
    for number, magics in enumerate([(0,), (1,), (0, 1, 2)]):
        partition = TopicPartition("formats", number)
        (path / str(partition)).mkdir()
        writer = PartitionWriter(_open_old(path, partition, magics[0]))
        for magic in magics:
            for count, codec in enumerate(OLD_CODECS * 3):
                writer.log.update_config(_old_config(magic))
                records = sample(1 + count % 5, headers=magic == 2)
                for record in records:
                    record.timestamp = -1 if magic == 0 else record.timestamp + count
                if magic == 2:
                    writer.append(records, codec=codec)
                else:
                    writer.append_old(records, magic, codec)
        contents[partition] = writer.written()
        writer.log.close()
    return contents


def _open_old(path: Path, partition: TopicPartition, magic: int) -> Log:
    return Log.open(
        str(path / str(partition)),
        str(partition),
        _old_config(magic),
        NOW_MS,
        obeys_message_format=True,
    )


def _old_config(magic: int) -> LogConfig:
    settings = SMALL | {"message.format.version": FORMAT_VERSIONS[magic]}
    return LogConfig().with_settings(settings)
