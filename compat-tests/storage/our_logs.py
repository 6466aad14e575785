"""A data directory that we write, with everything in it that a log can hold.

What each partition's records are is kept beside it, so that whoever else reads the files can
be compared: values of aborted transactions begin with `aborted`, of an open one with `open`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.storage.builder import build_batch, build_end_transaction_marker
from barnabas.storage.compression import Codec
from barnabas.storage.control import EndTransactionMarker
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.legacy import build_message_set
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from barnabas.storage.log_manager_config import LogManagerConfig
from barnabas.storage.producer_entry import AppendOrigin
from barnabas.storage.records import Record

NOW_MS = 1_700_000_000_000
HEADERS = (("trace", b"abc"), ("none", None), ("trace", b""))
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


@dataclass
class Written:
    """What is in one partition."""

    log_start_offset: int = 0
    log_end_offset: int = 0
    last_stable_offset: int = 0
    records: list[Record] = field(default_factory=list)
    """All that a consumer is to see, without regard to transactions."""

    @property
    def committed(self) -> list[Record]:
        """What one with `read_committed` is to see."""
        return [
            record
            for record in self.records
            if record.offset < self.last_stable_offset
            and not (record.value or b"").startswith((b"aborted", b"open"))
        ]


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


class PartitionWriter:
    """Appends to one log and remembers what."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._records: list[Record] = []
        self._sequences: dict[int, int] = {}
        self.survives: Callable[[list[Record]], Iterable[Record]] = lambda records: records
        """What compaction leaves of the records."""

    def append(
        self,
        records: Sequence[Record],
        *,
        codec: int = Codec.NONE,
        producer_id: int = -1,
        is_transactional: bool = False,
        epoch: int = 0,
    ) -> None:
        """Append one batch, of an idempotent producer if there is a producer id."""
        for number, record in enumerate(records):
            record.offset = number
        sequence = self._sequences.get(producer_id, 0) if producer_id >= 0 else -1
        batch = build_batch(
            records,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        self._sequences[producer_id] = sequence + len(records)
        self._take(batch, records, epoch)

    def append_old(self, records: Sequence[Record], magic: int, codec: int) -> None:
        """Append one message set of format 0 or 1."""
        for number, record in enumerate(records):
            record.offset = number
        self._take(build_message_set(records, magic, codec=codec), records, 0)

    def _take(self, batch: bytearray, records: Sequence[Record], epoch: int) -> None:
        now_ms = NOW_MS + self.log.log_end_offset
        first = self.log.log_end_offset
        info = self.log.append_as_leader(memoryview(batch), epoch, now_ms)
        for record in records:
            record.offset += first
            if info.log_append_time_ms >= 0:
                record.timestamp = info.log_append_time_ms
        self._records += records

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Append the coordinator's marker."""
        marker = build_end_transaction_marker(
            EndTransactionMarker(is_commit, coordinator_epoch=0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp_ms=NOW_MS + self.log.log_end_offset,
        )
        self.log.append_as_leader(memoryview(marker), 0, NOW_MS, origin=AppendOrigin.COORDINATOR)

    def written(self) -> Written:
        """What is in the log now."""
        log = self.log
        log.update_high_watermark(log.log_end_offset)
        return Written(
            log.log_start_offset,
            log.log_end_offset,
            log.last_stable_offset,
            [
                record
                for record in self.survives(self._records)
                if record.offset >= log.log_start_offset
            ],
        )


def sample(count: int, word: str = "value", *, headers: bool = True) -> list[Record]:
    """Records of all kinds, their timestamps in no order."""
    made = [
        Record(
            0,
            NOW_MS + (number * 37) % 11,
            f"key-{number}".encode(),
            f"{word} {number} ".encode() * (1 + number % 30),
            HEADERS if headers and number % 3 == 0 else (),
        )
        for number in range(count)
    ]
    if count > 3 and word == "value":
        made[1].key = None
        made[2].value = None
        made[3].key = made[3].value = b""
    return made


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
