"""What tests of a log share: opening one, batches to append, reading all of it back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import AppendInfo, ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin

NOW_MS = 1_700_000_000_000


def config(**settings: Any) -> LogConfig:
    return LogConfig(**({"index_interval_bytes": 100, "segment_bytes": 1000} | settings))


def open_log(
    folder: Path,
    *,
    clean: bool = True,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    now_ms: int = NOW_MS,
    **settings: Any,
) -> Log:
    """Open, and make if need be, the log of partition t-0; all of it is replicated."""
    directory = folder / "t-0"
    directory.mkdir(exist_ok=True)
    log = Log.open(
        str(directory),
        "t-0",
        config(**settings),
        now_ms,
        clean_shutdown=clean,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
    )
    log.update_high_watermark(log.log_end_offset)
    return log


def a_batch(
    count: int = 1,
    *,
    timestamp: int = NOW_MS,
    value: bytes = b"value",
    producer_id: int = -1,
    epoch: int = 0,
    sequence: int = -1,
    transactional: bool = False,
    codec: int = 0,
) -> bytearray:
    """A batch as a client sends it, timestamps rising by one."""
    return build_batch(
        [Record(number, timestamp + number, b"key", value) for number in range(count)],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch if producer_id >= 0 else -1,
        base_sequence=sequence,
        is_transactional=transactional,
    )


def append(log: Log, batch: bytearray, leader_epoch: int = 0, now_ms: int = NOW_MS) -> AppendInfo:
    """Append as leader of the only replica."""
    info = log.append_as_leader(memoryview(batch), leader_epoch, now_ms)
    log.maybe_increment_high_watermark(log.log_end_offset)
    return info


def end_transaction(
    log: Log,
    producer_id: int,
    *,
    commit: bool,
    epoch: int = 0,
    transaction_version: int = 0,
    leader_epoch: int = 0,
) -> AppendInfo:
    """Append a marker as the coordinator does."""
    marker = build_end_transaction_marker(
        EndTransactionMarker(commit, 0),
        producer_id=producer_id,
        producer_epoch=epoch,
        timestamp_ms=NOW_MS,
    )
    info = log.append_as_leader(
        memoryview(marker),
        leader_epoch,
        NOW_MS,
        origin=AppendOrigin.COORDINATOR,
        transaction_version=transaction_version,
    )
    log.maybe_increment_high_watermark(log.log_end_offset)
    return info


def fill(log: Log, batches: int, count: int = 1, **facts: Any) -> None:
    """Append so many batches of `count` records."""
    for number in range(batches):
        append(log, a_batch(count, timestamp=NOW_MS + 1000 * number, **facts))


def read_all(log: Log) -> Iterator[tuple[BatchHeader, bytes]]:
    """Every batch from the log start on."""
    offset = log.log_start_offset
    while (records := log.read(offset, 1, bound=ReadBound.LOG_END).records) is not None:
        data = records.read()
        (header,) = walk(data)
        yield header, data
        offset = header.next_offset


def offsets(log: Log) -> list[tuple[int, int]]:
    """First and last offset of every batch."""
    return [(header.base_offset, header.last_offset) for header, _ in read_all(log)]


def names(folder: Path) -> list[str]:
    """Names of the partition's files."""
    return sorted(path.name for path in (folder / "t-0").iterdir())


def file_name(base_offset: int, extension: str) -> str:
    return f"{base_offset:020d}.{extension}"


def delete_due_files(log: Log, now_ms: int) -> int | None:
    """Unlink the set-aside files whose delay is over; when the next one is due."""
    paths, next_due_ms = log.store.deletions.take_due(now_ms)
    for path in paths:
        Path(path).unlink(missing_ok=True)
    return next_due_ms
