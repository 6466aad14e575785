"""A data directory that our own log manager wrote, to be looked into and damaged."""

from pathlib import Path

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100)


def record(number: int, value: bytes = b"value") -> Record:
    return Record(0, NOW_MS + number, f"key-{number}".encode(), value, (("h", b"\xff"),))


def write_log(directory: Path, config: LogConfig = CONFIG) -> None:
    """Three segments or more: plain batches, an idempotent producer's, two transactions.

    Offsets 0 to 9 plain, one batch each; 10-13 producer 7; 14 to 21 producer 8 commits and
    aborts; leader epoch 0, from offset 10 on 2.
    """
    directory.mkdir(parents=True)
    log = Log.open(str(directory), directory.name, config, NOW_MS)
    for number in range(10):
        log.append_as_leader(memoryview(build_batch([record(number)])), 0, NOW_MS)
    for sequence in range(4):
        batch = build_batch(
            [record(sequence)], producer_id=7, producer_epoch=0, base_sequence=sequence
        )
        log.append_as_leader(memoryview(batch), 2, NOW_MS)
    for number, is_commit in enumerate((True, False)):
        append_transaction(log, number * 3, is_commit=is_commit)
    log.close()
    log.close_files()


def append_transaction(log: Log, sequence: int, *, is_commit: bool) -> None:
    """Three records of producer 8 and its marker."""
    records = [record(number) for number in range(3)]
    for number, each in enumerate(records):
        each.offset = number
    batch = build_batch(
        records,
        codec=Codec.GZIP,
        producer_id=8,
        producer_epoch=1,
        base_sequence=sequence,
        is_transactional=True,
    )
    log.append_as_leader(memoryview(batch), 2, NOW_MS)
    marker = build_end_transaction_marker(
        EndTransactionMarker(is_commit, coordinator_epoch=5),
        producer_id=8,
        producer_epoch=1,
        timestamp_ms=NOW_MS,
    )
    log.append_as_leader(memoryview(marker), 2, NOW_MS, origin=AppendOrigin.COORDINATOR)


def segment_files(directory: Path, extension: str) -> list[Path]:
    """A partition's files of one kind, in order."""
    return sorted(directory.glob(f"*.{extension}"))


def contents(directory: Path) -> dict[str, bytes]:
    """Every file under a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }
