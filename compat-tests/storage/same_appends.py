"""Appends that are made twice, through Apache Kafka and through our log, to compare the files.

`same-*` topics keep the producer's bytes, `again-*` topics have the broker compress anew. What
is sent is prebuilt, batch by batch; transactions are a real producer's, and what Kafka wrote of
them is given to our log once more.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from partition_writer import NOW_MS, sample

from barnabas.storage.batch.builder import build_batch, pack_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import HEADER, MAGIC_V2, BatchHeader, walk
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.storage.producers.leader_epochs import parse_epochs

INDEXED = {"index.interval.bytes": "100"}
SEGMENTS = {"3.9.1": {"segment.bytes": "1500"}, "4.4.0": {"segment.ms": "9"}}
"""4.x takes no `segment.bytes` below 1 MiB; by time segments roll as often."""
TRANSACTIONS = "same-transactions"
PHASES = 2
PRODUCERS = (1000, 70_001, 12)


def same_topics(version: str) -> dict[str, dict[str, str]]:
    """Name and settings of each topic whose files are to be the same."""
    small = INDEXED | SEGMENTS[version]
    topics = {
        "same-plain": small,
        "same-idempotent": small,
        "same-codecs": small,
        "same-corrected": INDEXED,
        "same-appendtime": INDEXED | {"message.timestamp.type": "LogAppendTime"},
        TRANSACTIONS: small,
    }
    return topics | ({"same-old": INDEXED} if version.startswith("3") else {})


def again_topics() -> dict[str, dict[str, str]]:
    """Name and settings of each topic that compresses anew."""
    codecs = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
    return {f"again-{codec}": INDEXED | {"compression.type": codec} for codec in codecs}


@dataclass(frozen=True)
class Append:
    """What is sent to a topic, and in which version of the produce request."""

    topic: str
    data: bytes
    version: int = 7


def appends(version: str, phase: int) -> Iterator[Append]:
    """Everything that is sent in one phase, in order."""
    for topic in same_topics(version):
        for data in _FILL.get(topic, _nothing)(phase):
            yield Append(topic, data)
    if version.startswith("3"):
        yield from _old_messages(phase)
    for topic in again_topics():
        for codec in Codec:
            for count in (1, 5, 60):
                records = _numbered(sample(count))
                yield Append(topic, bytes(build_batch(records, codec=codec)))


def _nothing(phase: int) -> Iterator[bytes]:
    return iter(())


def _numbered(records: list[Record], start_ms: int = 0) -> list[Record]:
    for number, record in enumerate(records):
        record.offset = number
        record.timestamp += start_ms
    return records


def _plain(phase: int) -> Iterator[bytes]:
    for number in range(30):
        start_ms = (phase * 30 + number) * 3 - number % 4
        yield bytes(build_batch(_numbered(sample(1 + number % 6), start_ms)))


def _idempotent(phase: int) -> Iterator[bytes]:
    """Three producers in turn; the second begins anew with a higher epoch."""
    sequences = dict.fromkeys(PRODUCERS, phase * 27)
    epochs = dict.fromkeys(PRODUCERS, 0)
    if phase:
        epochs[PRODUCERS[1]], sequences[PRODUCERS[1]] = 1, 0
    for number in range(27):
        producer = PRODUCERS[number % len(PRODUCERS)]
        records = _numbered(sample(3), (phase * 27 + number) * 3)
        yield bytes(
            build_batch(
                records,
                producer_id=producer,
                producer_epoch=epochs[producer],
                base_sequence=sequences[producer],
            )
        )
        sequences[producer] += len(records)


def _codecs(phase: int) -> Iterator[bytes]:
    for number, codec in enumerate(list(Codec) * 3):
        records = _numbered(sample(1 + number), (phase * 15 + number) * 3)
        yield bytes(build_batch(records, codec=codec))


def _corrected(phase: int) -> Iterator[bytes]:
    """Headers with a wrong max timestamp, which a broker puts right."""
    for wrong in (-1, 5, -500):
        data = build_batch(_numbered(sample(9)))
        (header,) = walk(data)
        header.max_timestamp += wrong
        yield bytes(pack_batch(header, bytes(data[HEADER.size :])))


_FILL = {
    "same-plain": _plain,
    "same-idempotent": _idempotent,
    "same-codecs": _codecs,
    "same-corrected": _corrected,
    "same-appendtime": _plain,
}


def _old_messages(phase: int) -> Iterator[Append]:
    """Message sets of formats 0 and 1, by the requests of their time: stored as batches."""
    for magic, version in ((0, 1), (1, 2)):
        for count in (1, 4):
            records = _numbered(sample(count, headers=False))
            if magic == 0:
                for record in records:
                    record.timestamp = -1
            yield Append("same-old", bytes(build_message_set(records, magic)), version)


# --- our side of it ------------------------------------------------------------------------


class Repeated:
    """Our log of one topic, given what Kafka was given."""

    def __init__(self, directory: Path, settings: dict[str, str]) -> None:
        self.directory = directory
        self._config = LogConfig().with_settings(settings)
        directory.mkdir(parents=True, exist_ok=True)

    def run(self, theirs: Path, sent: list[Append], *, begins_epoch: bool) -> None:
        """Append one phase's batches and stop cleanly, beside Kafka's directory after it.

        Opened today, as Kafka was: producers of long ago are forgotten at that.
        """
        log = Log.open(
            str(self.directory),
            self.directory.name,
            self._config,
            int(time.time() * 1000),
            full_validation=True,
        )
        epoch = parse_epochs((theirs / "leader-epoch-checkpoint").read_bytes())[-1][0]
        if begins_epoch:
            log.assign_epoch(epoch, log.log_end_offset)
        if self.directory.name.startswith(TRANSACTIONS):
            _repeat_stored(log, theirs)
        else:
            stored = [header for _, header in batches(theirs)]
            for append in sent:
                _repeat(log, append, epoch, stored)
        log.close()


def _repeat(log: Log, append: Append, epoch: int, stored: list[BatchHeader]) -> None:
    """Append at the time at which Kafka did, which a LogAppendTime batch tells."""
    at = next(header for header in stored if header.base_offset == log.log_end_offset)
    now_ms = at.max_timestamp if at.is_log_append_time else NOW_MS
    log.append_as_leader(memoryview(bytearray(append.data)), epoch, now_ms)


def _repeat_stored(log: Log, theirs: Path) -> None:
    """Append what Kafka stored, as its producers and its coordinator sent it."""
    start = log.log_end_offset
    for batch, header in batches(theirs):
        if header.base_offset >= start:
            assert header.magic == MAGIC_V2
            buffer = bytearray(batch)
            fields = list(HEADER.unpack(batch[: HEADER.size]))
            fields[0], fields[2] = 0, -1
            HEADER.pack_into(buffer, 0, *fields)
            log.append_as_leader(
                memoryview(buffer),
                header.partition_leader_epoch,
                NOW_MS,
                origin=AppendOrigin.COORDINATOR if header.is_control else AppendOrigin.CLIENT,
            )


def batches(directory: Path) -> Iterator[tuple[bytes, BatchHeader]]:
    """Every batch of a partition's directory with its header."""
    for path in sorted(directory.glob("*.log")):
        content = path.read_bytes()
        for header in walk(content):
            yield content[header.position : header.end], header
