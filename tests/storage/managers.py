"""A log manager with small logs in it, and what tests of it have in common."""

from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record, decode_all
from barnabas.storage.compaction.job import Compactor
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.disk_work import Done, Worker, work_inline
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

NOW_MS = 1_800_000_000_000
ORDERS = [TopicPartition("orders", number) for number in range(4)]


class LaterWorker:
    """Keeps work until it is told to do it, as a busy disk would."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], None], Done]] = []
        self.done = 0

    def __call__(self, work: Callable[[], None], done: Done) -> None:
        self.waiting.append((work, done))

    def do_all(self) -> None:
        while self.waiting:
            self.do_one()

    def do_one(self) -> None:
        work, done = self.waiting.pop(0)
        self.done += 1
        work_inline(work, done)


def default_config(topic: str) -> LogConfig:
    return LogConfig()


def opened(
    *paths: Path,
    config: LogConfig | None = None,
    fs: FileSystem = REAL,
    worker: Worker = work_inline,
    compactor: Compactor | None = None,
    settings: LogManagerConfig | None = None,
    now_ms: int = NOW_MS,
) -> LogManager:
    """A manager of these directories whose topics all have one config."""
    manager = LogManager(
        [str(path) for path in paths], settings, fs=fs, worker=worker, compactor=compactor
    )
    manager.open(lambda topic: config or LogConfig(), now_ms)
    return manager


def pass_time(manager: LogManager, now_ms: int, monotonic_ms: int | None = None) -> None:
    """Do everything that is due by then; the two clocks are one unless both are given."""
    monotonic_ms = now_ms if monotonic_ms is None else monotonic_ms
    while manager.background(now_ms, monotonic_ms) <= monotonic_ms:
        pass


def append(
    log: ManagedLog,
    *values: bytes | None,
    key: bytes | None = b"k",
    timestamp: int = NOW_MS,
    sequence: int = -1,
) -> None:
    """Append one batch of these values, replicated at once; producer 7 if it has a sequence."""
    records = [Record(number, timestamp, key, value) for number, value in enumerate(values)]
    identity = {"producer_id": 7, "producer_epoch": 0} if sequence >= 0 else {}
    batch = build_batch(records, base_sequence=sequence, **identity)
    log.append_as_leader(batch, 0, timestamp)
    log.update_high_watermark(log.log_end_offset)


def records_of(log: ManagedLog) -> list[Record]:
    """Every record in the log's segments."""
    records: list[Record] = []
    for segment in log.segments:
        if segment.exists:
            records += decode_all(segment.slice(0, segment.size_bytes).read())
    return records


def values_of(log: ManagedLog) -> list[bytes | None]:
    return [record.value for record in records_of(log)]


def base_offsets(log: ManagedLog) -> Sequence[int]:
    return log.segments.base_offsets
