"""A day in the life of a data directory, and what must be true of it whenever it ends early.

The ledger notes what was asked for and what was promised. After a fault the directory is
opened again and held against it: a prefix of what was sent, all that was promised, indexes
and producer state that agree with the batches, and a log that goes on.
"""

from dataclasses import dataclass, field
from pathlib import Path

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.records import Record
from barnabas.storage.compaction.process import InlineCompactor
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import FileSystem
from barnabas.storage.errors import LogDirectoryFailed
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.producers.entry import AppendOrigin

from .log_checks import Found, batches_of, check_indexes, check_producers

START_MS = 1_800_000_000_000
KEPT = LogConfig(segment_bytes=420, index_interval_bytes=100, file_delete_delay_ms=2_000)
COMPACTED = LogConfig(
    segment_bytes=300,
    index_interval_bytes=100,
    file_delete_delay_ms=2_000,
    cleanup_policy=("compact",),
    delete_retention_ms=10_000,
    min_cleanable_dirty_ratio=0.1,
)
SETTINGS = LogManagerConfig(initial_task_delay_ms=1_000)
TOPIC_ID = bytes(range(16))

KeyValue = tuple[bytes | None, bytes | None]


@dataclass
class Ledger:
    """What was asked of one partition, and what was promised."""

    config: LogConfig
    acknowledged: dict[int, KeyValue] = field(default_factory=dict)
    end: int = 0
    flushed_end: int = 0
    start: int = 0
    in_flight: dict[int, KeyValue] = field(default_factory=dict)
    may_be_truncated_to: int | None = None
    is_created: bool = False
    may_be_deleted: bool = False

    def settle(self) -> None:
        self.acknowledged |= self.in_flight
        self.end = max([self.end, *(offset + 1 for offset in self.in_flight)])
        self.in_flight = {}

    def truncated(self, offset: int) -> None:
        self.acknowledged = {o: kv for o, kv in self.acknowledged.items() if o < offset}
        self.end = offset
        self.flushed_end = min(self.flushed_end, offset)
        self.may_be_truncated_to = None


class Workload:
    """The script."""

    def __init__(self, root: Path, fs: FileSystem) -> None:
        self.root = root
        self.fs = fs
        self.now_ms = START_MS
        self.ledgers: dict[str, Ledger] = {}
        self.manager: LogManager | None = None
        self.failed: LogDirectoryFailed | None = None
        self.sequence = 0

    def run(self) -> None:
        """Do everything, until the directory fails."""
        try:
            self._first_run()
            self._second_run()
        except LogDirectoryFailed as error:
            self.failed = error

    def _open(self) -> LogManager:
        self.manager = LogManager(
            [str(self.root)], SETTINGS, fs=self.fs, compactor=InlineCompactor(self.fs)
        )
        self.manager.open(self._config_of, self.now_ms, broker_id=1, cluster_id="crash")
        return self.manager

    def _config_of(self, topic: str) -> LogConfig:
        return COMPACTED if topic == "compacted" else KEPT

    def _first_run(self) -> None:
        self._open()
        for topic in ("kept", "compacted", "doomed"):
            self.create(topic)
        for number in range(3):
            self.append("kept", 2, idempotent=True)
            self.append("compacted", 2, keys=(b"a", b"b"))
            self.append("doomed", 1)
            if number == 1:
                self.flush("kept")
        self.pass_time(1_000)
        self.append("kept", 1, transaction=True)
        self.append("kept", 1, idempotent=True)
        self.end_transaction("kept", is_commit=False)
        self.append("compacted", 2, keys=(b"a", b"c"))
        self.append("compacted", 1, keys=(b"b",), value=None)
        self.delete("doomed")
        self.append("compacted", 1, keys=(b"d",))
        self.pass_time(16_000)
        self.append("kept", 3)
        self.delete_records("kept", 5)
        self.pass_time(300_000)
        self.append("kept", 2, idempotent=True)
        self.truncate("kept", 2)
        self.append("kept", 1)
        self.append("compacted", 2, keys=(b"a", b"a"))
        self.append("compacted", 1, keys=(b"d",))
        self.flush("compacted")
        self.pass_time(16_000)
        self.close()

    def _second_run(self) -> None:
        self.now_ms += 60_000
        self._open()
        self.append("kept", 2)
        self.append("compacted", 2, keys=(b"c", b"d"))
        self.flush("kept")
        self.pass_time(16_000)
        self.append("kept", 1)
        self.close()

    # --- steps -------------------------------------------------------------------------

    def log(self, topic: str) -> ManagedLog:
        assert self.manager is not None
        log = self.manager.get(TopicPartition(topic, 0))
        assert log is not None
        return log

    def create(self, topic: str) -> None:
        assert self.manager is not None
        self.ledgers[topic] = Ledger(self._config_of(topic))
        self.manager.create(
            TopicPartition(topic, 0), self._config_of(topic), self.now_ms, topic_id=TOPIC_ID
        )
        self.ledgers[topic].is_created = True

    def append(
        self,
        topic: str,
        count: int,
        *,
        keys: tuple[bytes, ...] = (b"k",),
        value: bytes | None = b"v",
        idempotent: bool = False,
        transaction: bool = False,
    ) -> None:
        self.now_ms += 1
        ledger = self.ledgers[topic]
        pairs: list[KeyValue] = []
        for number in range(count):
            text = b"%d " % (ledger.end + number) + b"." * 30
            pairs.append((keys[number % len(keys)], text if value is not None else None))
        records = [
            Record(number, self.now_ms + number, key, content)
            for number, (key, content) in enumerate(pairs)
        ]
        batch = build_batch(records)
        if idempotent:
            batch = build_batch(
                records, producer_id=7, producer_epoch=0, base_sequence=self.sequence
            )
        elif transaction:
            batch = build_batch(
                records, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True
            )
        ledger.in_flight = dict(enumerate(pairs, ledger.end))
        log = self.log(topic)
        log.append_as_leader(batch, 3, self.now_ms)
        ledger.settle()
        self.sequence += count if idempotent else 0
        log.update_high_watermark(log.log_end_offset)

    def end_transaction(self, topic: str, *, is_commit: bool) -> None:
        ledger = self.ledgers[topic]
        marker = EndTransactionMarker(is_commit, 0)
        ledger.in_flight = {ledger.end: (marker.key, marker.value)}
        batch = build_end_transaction_marker(
            marker, producer_id=8, producer_epoch=0, timestamp_ms=self.now_ms
        )
        log = self.log(topic)
        log.append_as_leader(batch, 3, self.now_ms, origin=AppendOrigin.COORDINATOR)
        ledger.settle()
        log.update_high_watermark(log.log_end_offset)

    def flush(self, topic: str) -> None:
        assert self.manager is not None
        ledger = self.ledgers[topic]
        log = self.log(topic)

        def done() -> None:
            ledger.flushed_end = max(ledger.flushed_end, log.log_end_offset)

        self.manager.flush(log, done)

    def pass_time(self, ms: int) -> None:
        assert self.manager is not None
        self.now_ms += ms
        while self.manager.background(self.now_ms) <= self.now_ms:
            pass
        for topic, ledger in self.ledgers.items():
            if not ledger.may_be_deleted:
                log = self.log(topic)
                ledger.flushed_end = max(ledger.flushed_end, log.recovery_point)
                ledger.start = max(ledger.start, log.log_start_offset)

    def delete_records(self, topic: str, offset: int) -> None:
        self.ledgers[topic].start = offset
        self.log(topic).maybe_increment_log_start_offset(offset)

    def truncate(self, topic: str, back: int) -> None:
        ledger = self.ledgers[topic]
        offset = ledger.end - back
        ledger.may_be_truncated_to = offset
        self.log(topic).truncate_to(offset, self.now_ms)
        ledger.truncated(self.log(topic).log_end_offset)
        self.sequence = 0

    def delete(self, topic: str) -> None:
        assert self.manager is not None
        self.ledgers[topic].may_be_deleted = True
        self.manager.delete(TopicPartition(topic, 0))

    def close(self) -> None:
        assert self.manager is not None
        logs = {
            topic: self.log(topic)
            for topic, each in self.ledgers.items()
            if not each.may_be_deleted
        }
        self.manager.close()
        if self.manager.directories[0].is_online:
            for topic, log in logs.items():
                self.ledgers[topic].flushed_end = log.log_end_offset
        else:
            raise LogDirectoryFailed("while it was closed")


def let_go(workload: Workload) -> None:
    """Give back the descriptors of a workload whose process would be dead."""
    if workload.manager is not None:
        for directory in workload.manager.directories:
            directory.close_files()


# --- what must be true -----------------------------------------------------------------


def verify(workload: Workload, *, power_cut: bool) -> None:
    """Open what is left and hold it against the ledger; then let the logs go on."""
    manager = LogManager([str(workload.root)], SETTINGS, compactor=InlineCompactor())
    manager.open(workload._config_of, workload.now_ms)
    assert manager.directories[0].is_online
    for topic, ledger in workload.ledgers.items():
        log = manager.get(TopicPartition(topic, 0))
        if log is None:
            assert ledger.may_be_deleted or not ledger.is_created or _may_be_lost(ledger, power_cut)
            continue
        found = batches_of(log)
        _check_extent(log, ledger, power_cut)
        _check_records(log, ledger, found)
        check_indexes(log, found)
        check_producers(log, found)
        _check_it_goes_on(log, workload.now_ms)
    ends = {log.partition: log.log_end_offset for log in manager}
    manager.close()
    again = LogManager([str(workload.root)], SETTINGS, compactor=InlineCompactor())
    again.open(workload._config_of, workload.now_ms)
    assert {log.partition: log.log_end_offset for log in again} == ends
    assert [log.load_report.notes for log in again] == [[]] * len(ends)
    again.close()


def _may_be_lost(ledger: Ledger, power_cut: bool) -> bool:
    return power_cut and ledger.flushed_end == 0


def _check_extent(log: ManagedLog, ledger: Ledger, power_cut: bool) -> None:
    most = max([ledger.end, *(offset + 1 for offset in ledger.in_flight)])
    least = ledger.flushed_end if power_cut else ledger.end
    if ledger.may_be_truncated_to is not None:
        least = min(least, ledger.may_be_truncated_to)
    assert least <= log.log_end_offset <= most
    assert log.log_start_offset <= ledger.start
    assert log.recovery_point <= log.log_end_offset


def _check_records(log: ManagedLog, ledger: Ledger, found: Found) -> None:
    sent = ledger.acknowledged | ledger.in_flight
    kept = {record.offset: record for _, _, records in found for record in records}
    for offset, record in kept.items():
        assert (record.key, record.value) == sent[offset]
    end = log.log_end_offset
    if not ledger.config.compact:
        assert sorted(kept) == list(range(min(kept, default=end), end))
        assert min(kept, default=end) <= max(log.log_start_offset, ledger.start)
        return
    last = {key: offset for offset, (key, _) in sorted(sent.items()) if offset < end}
    for key, offset in last.items():
        assert offset in kept or sent[offset][1] is None, (key, offset)


def _check_it_goes_on(log: ManagedLog, now_ms: int) -> None:
    end = log.log_end_offset
    batch = build_batch([Record(0, now_ms, b"k", b"after")])
    assert log.append_as_leader(batch, 4, now_ms).first_offset == end
    log.update_high_watermark(log.log_end_offset)
