"""A history that a seed decides: a data directory in use while everything goes on at once.

Between any two file calls of a compaction, a flush, a recovery or of the broker's own loop
others go on with theirs: the log is appended to, truncated, rolled, retained, deleted and made
again, transactions are begun, committed and aborted, or the machine dies and comes back. After
each step, and after each death, the logs are held against the ledgers (`ledger`).
"""

import logging
from dataclasses import replace

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.records import Record
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.producers.entry import AppendOrigin

from ..faulty_disk import Killed
from ..log_checks import SERIAL, Role, serial_of
from .ledger import Ledger
from .machine import TOPICS, Machine

POLICIES = {"kept": ("delete",), "compacted": ("compact",), "both": ("compact", "delete")}
IDEMPOTENT = 7
TRANSACTIONAL = (8, 9)


class History(Machine):
    """One seed's history; `run` raises AssertionError at the first broken promise."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.stage.liveliness = self.chance.choice((0.05, 0.2, 0.5))
        self.settings = self._settings()
        self.configs = {topic: self._config(topic) for topic in TOPICS}
        self.serial = 0
        self.operations = {
            self.append: 40, self.go_on: 25, self.deliver: 15, self.background: 18, self.flush: 8,
            self.roll: 3, self.truncate: 3, self.delete_records: 3, self.delete: 1,
            self.replicate: 3, self.pass_time: 4, self.reconfigure: 1, self.restart: 1,
            self.die: 1, self.flush_each: 4, self.transaction: 10,
            self.end_late: 4,
        }  # fmt: skip

    def _settings(self) -> LogManagerConfig:
        chance = self.chance
        return LogManagerConfig(
            retention_check_interval_ms=chance.choice((50, 500)),
            flush_interval_ms=1_000,
            recovery_point_interval_ms=chance.choice((100, 2_000)),
            log_start_interval_ms=chance.choice((100, 2_000)),
            high_watermark_interval_ms=500,
            initial_task_delay_ms=50,
            cleaner_threads=chance.choice((1, 2)),
            cleaner_backoff_ms=50,
            cleaner_dedupe_buffer_bytes=chance.choice((24 * 4, 24 * 400)),
            cleaner_open_files=chance.choice((4, 6, 16)),
            cleaner_read_bytes=chance.choice((100, 1 << 20)),
            cleaner_write_bytes=chance.choice((1, 150, 1 << 20)),
            recovery_small_bytes=chance.choice((0, 300, 1 << 16)),
            recovery_child_bytes=chance.choice((0, 1 << 20)),
            slice_calls=chance.choice((1, 100)),
        )

    def _config(self, topic: str) -> LogConfig:
        chance = self.chance
        return LogConfig(
            cleanup_policy=POLICIES[topic],
            segment_bytes=chance.choice((450, 600, 1_000)),
            segment_ms=chance.choice((2_000, 1 << 40)),
            index_interval_bytes=chance.choice((0, 100, 4096)),
            segment_index_bytes=chance.choice((36, 10 << 20)),
            file_delete_delay_ms=chance.choice((0, 0, 2_000)),
            delete_retention_ms=chance.choice((0, 5_000)),
            min_cleanable_dirty_ratio=chance.choice((0.01, 0.3)),
            retention_ms=chance.choice((3_000, 1 << 40)),
            retention_bytes=chance.choice((1_500, -1)),
            flush_ms=chance.choice((500, 1 << 40)),
        )

    # --- the history -------------------------------------------------------------------

    def run(self, most_operations: int = 120) -> None:
        """Live it to its end, deaths included."""
        try:
            self.prepare()
            for _ in range(self.chance.randint(most_operations // 4, most_operations)):
                (operation,) = self.chance.choices(
                    list(self.operations), list(self.operations.values())
                )
                self.survive(operation)
                self.look()
            self.stage.lives = None
            self.survive(self.restart)
            self.check_nothing_to_mend()
        finally:
            self.stage.clear()

    # --- operations --------------------------------------------------------------------

    def _log(self, topic: str) -> ManagedLog:
        assert self.manager is not None
        log = self.manager.get(TopicPartition(topic, 0))
        assert log is not None
        return log

    def _any(self) -> tuple[ManagedLog, Ledger]:
        topic = self.chance.choice(TOPICS)
        return self._log(topic), self.ledgers[topic]

    def append(self) -> None:
        """One batch, with a sequence or not."""
        self.wait(self.chance.choice((0, 1, 20)))
        self._append_to(*self._any())

    def transaction(self) -> None:
        """A batch of a transaction, or its end."""
        log, ledger = self._any()
        producer_id = self.chance.choice(TRANSACTIONAL)
        if producer_id in log.producers.ongoing.values() and self.chance.random() < 0.4:
            self._end_transaction(log, ledger, producer_id)
        else:
            self._append_to(log, ledger, producer_id)

    def end_late(self) -> None:
        """What a transaction wrote lies in a durable segment; its end does not, and is acted on."""
        log, ledger = self._any()
        producer_id = self.chance.choice(TRANSACTIONAL)
        self._append_to(log, ledger, producer_id)
        log.roll(self.now_ms)
        self._flush(log, ledger)
        for _ in range(20):
            self.go_on()
            self.deliver()
        self._end_transaction(log, ledger, producer_id)
        log.update_high_watermark(log.log_end_offset)
        for _ in range(4):
            self.background()
            self.go_on()
        if self.chance.random() < 0.2:
            self.die()

    def _end_transaction(self, log: ManagedLog, ledger: Ledger, producer_id: int) -> None:
        marker = EndTransactionMarker(self.chance.random() < 0.5, coordinator_epoch=0)
        record = replace(self._record(ledger.end), key=marker.key, value=marker.value)
        role = Role.COMMIT if marker.is_commit else Role.ABORT
        ledger.transactions[serial_of(record)] = producer_id, role
        batch = build_batch(
            [replace(record, offset=0)], producer_id=producer_id, producer_epoch=0,
            is_transactional=True, is_control=True,
        )  # fmt: skip
        self._send(log, ledger, [record], batch, AppendOrigin.COORDINATOR)

    def _append_to(self, log: ManagedLog, ledger: Ledger, producer_id: int | None = None) -> None:
        """In a transaction, if a producer is given."""
        count = self.chance.choice((1, 1, 2, 5))
        records = [self._record(ledger.end + number) for number in range(count)]
        is_transactional = producer_id is not None
        if is_transactional:
            ledger.transactions |= {serial_of(r): (producer_id, Role.DATA) for r in records}
        elif self.chance.random() < 0.3:
            producer_id = IDEMPOTENT
        facts = {}
        if producer_id is not None:
            sequence = _next_sequence(log, producer_id)
            facts = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        batch = build_batch(
            [replace(r, offset=n) for n, r in enumerate(records)],
            is_transactional=is_transactional,
            **facts,
        )
        self._send(log, ledger, records, batch, AppendOrigin.CLIENT)

    def _send(
        self,
        log: ManagedLog,
        ledger: Ledger,
        records: list[Record],
        batch: bytearray,
        origin: AppendOrigin,
    ) -> None:
        self.tell(ledger.topic, *((r.offset, r.key, r.value and len(r.value)) for r in records))
        ledger.in_flight = records
        ledger.serials.update(map(serial_of, records))
        log.append_as_leader(batch, self.deaths, self.now_ms, origin=origin)
        ledger.settle()
        ledger.boundaries.append(records[0].offset)
        if self.chance.random() < 0.8:
            log.update_high_watermark(log.log_end_offset)

    def _record(self, offset: int) -> Record:
        self.serial += 1
        key = b"%d" % self.chance.choice((0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
        value = None if self.chance.random() < 0.15 else b"." * self.chance.randint(0, 40)
        return Record(offset, self.now_ms, key, value, ((SERIAL, b"%d" % self.serial),))

    def go_on(self) -> None:
        """Time for those in the background."""
        self.stage.go_on(self.chance.choice((1, 3, 10, 40)))

    def deliver(self) -> None:
        """The loop is told of work that has ended."""
        for _ in range(self.chance.choice((1, 1, 9))):
            self.stage.deliver()

    def background(self) -> None:
        assert self.manager is not None
        self.wait(self.chance.choice((0, 20, 100, 1_000)))
        for _ in range(self.chance.choice((1, 4))):
            if self.manager.background(self.now_ms, self.monotonic_ms) > self.monotonic_ms:
                break

    def flush(self) -> None:
        self._flush(*self._any())

    def flush_each(self) -> None:
        """As with `flush.messages=1`: the next append does not wait for the flush before."""
        log, ledger = self._any()
        if self.chance.random() < 0.5 and log.active_segment.size_bytes:
            log.roll(self.now_ms)
        for _ in range(self.chance.choice((2, 3))):
            self._append_to(log, ledger)
            self._flush(log, ledger)
        self.go_on()
        self.deliver()
        if self.chance.random() < 0.1:
            self.die()

    def _flush(self, log: ManagedLog, ledger: Ledger) -> None:
        assert self.manager is not None
        self.tell(ledger.topic)
        end, records = log.log_end_offset, list(ledger.records.values())

        def done() -> None:
            if self.ledgers.get(ledger.topic) is ledger:
                assert log.recovery_point >= end, "flushed, and yet not"
                cut = [r.offset for r in records if ledger.records.get(r.offset) is not r]
                assert not cut, f"told that {cut} are durable, which were truncated"

        self.manager.flush(log, done)

    def roll(self) -> None:
        log, _ = self._any()
        if log.active_segment.size_bytes:
            log.roll(self.now_ms)

    def truncate(self) -> None:
        log, ledger = self._any()
        least = log.high_watermark if self.chance.random() < 0.7 else log.log_start_offset
        bounds = [each for each in (*ledger.boundaries, ledger.end) if least <= each]
        self._truncate_to(log, ledger, self.chance.choice(bounds))

    def _truncate_to(self, log: ManagedLog, ledger: Ledger, offset: int) -> None:
        self.tell(ledger.topic, offset, "of", ledger.end, "replicated", log.high_watermark)
        ledger.begin_truncation(offset, log.high_watermark)
        log.truncate_to(offset, self.now_ms)
        ledger.end_truncation(log.log_end_offset)

    def delete_records(self) -> None:
        log, ledger = self._any()
        offset = self.chance.randint(log.log_start_offset, log.high_watermark)
        self.tell(ledger.topic, offset)
        ledger.start = max(ledger.start, offset)
        log.maybe_increment_log_start_offset(offset)

    def delete(self) -> None:
        """Delete a topic, and create it again at once."""
        assert self.manager is not None
        topic = self.chance.choice(TOPICS)
        ledger = self.ledgers[topic]
        self.tell(topic)
        ledger.is_being_deleted = True
        self.manager.delete(TopicPartition(topic, 0))
        self.past[topic].append(self.ledgers.pop(topic))
        self.create(topic)

    def replicate(self) -> None:
        log, _ = self._any()
        log.update_high_watermark(log.log_end_offset)

    def pass_time(self) -> None:
        """Time passes, or the date is set."""
        if self.chance.random() < 0.7:
            self.wait(self.chance.choice((500, 5_000, 3_600_000)))
        else:
            self.now_ms += self.chance.choice((3_600_000, -700, -86_400_000))

    def reconfigure(self) -> None:
        assert self.manager is not None
        topic = self.chance.choice(TOPICS)
        self.configs[topic] = self.ledgers[topic].config = self._config(topic)
        self.manager.update_config(topic, self.configs[topic])

    def restart(self) -> None:
        """A clean stop and a start."""
        assert self.manager is not None
        while not self.stage.worker.is_idle:
            self.stage.go_on(1)
            self.stage.deliver()
        manager, self.manager = self.manager, None  # what it promises from now on nobody hears
        self.is_closing = True
        manager.close()
        self.is_closing = False
        for ledger in self.ledgers.values():
            ledger.durable_end = ledger.end
        self.stage.clear()
        self.disk.kill()
        self.stage.boot()
        self.open()
        self.hold()

    def die(self) -> None:
        raise Killed


def _next_sequence(log: ManagedLog, producer_id: int) -> int:
    entry = log.producers.producers.get(producer_id)
    return 0 if entry is None or not entry.batches else entry.last_sequence + 1


def live(seed: int, most_operations: int = 120) -> History:
    """Live a seed's history; a broken promise tells the seed and what went before."""
    logging.disable(logging.CRITICAL)
    history = History(seed)
    try:
        history.run(most_operations)
    except BaseException as error:
        error.add_note(f"seed {seed}: " + " | ".join(history.told[-40:]))
        error.add_note("last changes: " + " | ".join(history.disk.trace[-25:]))
        raise
    finally:
        logging.disable(logging.NOTSET)
    return history
