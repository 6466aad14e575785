"""A history that a seed decides: a data directory in use while everything goes on at once.

Between any two file calls of a compaction, a flush, a recovery or of the broker's own loop
others go on with theirs: the log is appended to, truncated, rolled, retained, deleted and made
again, or the machine dies and comes back. After each step, and after each death, the logs are
held against the ledgers (`concurrent_ledger`).
"""

import logging
import random
from collections.abc import Sequence
from dataclasses import replace

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.loading.job import LoadJob, Recovered, RecoveryFailed
from barnabas.storage.loading.loader import Loader
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager_config import LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from .concurrent_ledger import SERIAL, Ledger, serial_of
from .faulty_disk import Killed
from .log_checks import batches_of
from .memory_disk import MemoryDisk
from .stepping import Stage

START_MS = 1_800_000_000_000
ROOT = "/data"
TOPICS = ("kept", "compacted", "both")
POLICIES = {"kept": ("delete",), "compacted": ("compact",), "both": ("compact", "delete")}


class History:
    """One seed's history; `run` raises AssertionError at the first broken promise."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now_ms = START_MS
        self.disk = MemoryDisk()
        self.disk.now_ms = lambda: self.now_ms
        self.stage = Stage(self.disk, self.chance)
        self.stage.liveliness = self.chance.choice((0.05, 0.2, 0.5))
        self.settings = self._settings()
        self.configs = {topic: self._config(topic) for topic in TOPICS}
        self.ledgers: dict[str, Ledger] = {}
        self.past: dict[str, list[Ledger]] = {topic: [] for topic in TOPICS}
        self.manager: LogManager | None = None
        self.serial = 0
        self.deaths = 0
        self.told: list[str] = []
        self.operations = {
            self.append: 40, self.go_on: 25, self.deliver: 15, self.background: 18, self.flush: 8,
            self.roll: 3, self.truncate: 3, self.delete_records: 3, self.delete: 1,
            self.replicate: 3, self.pass_time: 4, self.reconfigure: 1, self.restart: 1,
            self.die: 1,
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
            slice_logs=chance.choice((1, 100)),
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
            self.disk._make_directory(ROOT)
            self.disk.root.sync()
            self._draw_lives()
            self._survive(self._start)
            for _ in range(self.chance.randint(most_operations // 4, most_operations)):
                (operation,) = self.chance.choices(
                    list(self.operations), list(self.operations.values())
                )
                self._survive(operation)
                self._look()
            self.stage.lives = None
            self._survive(self.restart)
            self._check_nothing_to_mend()
        finally:
            self.stage.clear()

    def _tell(self, *what: object) -> None:
        """Note what happens, for a failure."""
        self.told.append(" ".join(map(str, what)))

    def _draw_lives(self) -> None:
        """After how many file calls the machine dies next, if at all."""
        lives = self.chance.choice((None, 30, 300, 1_000))
        self.stage.lives = lives and self.chance.randint(1, lives)

    def _survive(self, operation) -> None:
        """Do something; whenever the machine dies over it, bring it back."""
        self._tell(operation.__name__)
        try:
            operation()
        except Killed:
            self._die_and_come_back()

    def _die_and_come_back(self) -> None:
        while True:
            power_cut = self._fall()
            try:
                self._draw_lives()
                self._open()
            except Killed:
                self._carry_over(power_cut)
                continue
            self._hold(self._was_power_cut or power_cut)
            return

    _was_power_cut = False

    def _carry_over(self, power_cut: bool) -> None:
        self._was_power_cut = self._was_power_cut or power_cut

    def _fall(self) -> bool:
        """The machine dies: by a power cut or not."""
        self.deaths += 1
        power_cut = self.chance.random() < 0.6
        self.stage.clear()
        self._note_last_words()
        if power_cut:
            self.disk.cut_power(self.chance)
            self._check_recovery_points()
        else:
            self.disk.kill()
        self._tell("POWER CUT" if power_cut else "KILLED")
        self.stage.boot()
        return power_cut

    def _note_last_words(self) -> None:
        """What was promised in the very step in which the machine died."""
        if self.manager is None:
            return
        for log in self.manager.directories[0].logs.values():
            ledger = self.ledgers.get(log.partition.topic)
            if ledger is not None and log.topic_id == ledger.topic_id:
                ledger.look(log)
        self.manager = None

    def _check_recovery_points(self) -> None:
        """No recovery point lies above what is on the disk, unless nothing is missing."""
        path = f"{ROOT}/{checkpoints.RECOVERY_POINT}"
        try:
            lines = self.disk.read(path).decode().splitlines()
        except FileNotFoundError:
            return
        for (topic, _), point in checkpoints.parse_offsets(path, lines).items():
            ledger = self.ledgers.get(topic)
            if ledger is None or ledger.is_being_deleted or not ledger.is_created:
                continue
            if ledger.truncating_to is None and not self._was_power_cut:
                assert point <= max(ledger.durable_end, ledger.start) or (
                    ledger.end <= ledger.durable_end
                ), f"{topic}: the recovery point is {point}, durable is {ledger.durable_end}"

    def _start(self) -> None:
        self._open()
        for topic in TOPICS:
            self._create(topic)

    def _open(self) -> None:
        self.manager = LogManager(
            [ROOT],
            self.settings,
            fs=self.stage.fs,
            worker=self.stage.worker,
            compactor=self.stage.compactor,
            recover=self._recover,
            open_files=self.chance.choice((3, 8, 512)),
        )
        self.manager.open(self.configs.__getitem__, self.now_ms)

    def _recover(
        self, jobs: Sequence[LoadJob], most: int, locks: Sequence[int]
    ) -> list[Recovered | RecoveryFailed]:
        """As the children do it."""
        results: list[Recovered | RecoveryFailed] = []
        for job in jobs:
            loader = Loader(FileCache(self.stage.fs, 512), job)
            try:
                loader.load()
            except Exception as error:
                raise AssertionError(f"a recovery ran into {error!r}") from error
            finally:
                loader.close_files()
            results.append(Recovered(loader.recovery_point, loader.log_start_offset, loader.report))
        return results

    # --- checks ------------------------------------------------------------------------

    def _look(self) -> None:
        """What is promised now, and whether all that was is kept while the broker runs."""
        assert self.manager is not None
        (directory,) = self.manager.directories
        assert directory.is_online, f"the directory has failed: {directory.failure!r}"
        assert not self.manager.scheduler.uncleanable, self.manager.scheduler.uncleanable
        self.stage.is_quiet = True
        for ledger in self.ledgers.values():
            log = self.manager.get(TopicPartition(ledger.topic, 0))
            assert log is not None
            ledger.look(log)
            if self.chance.random() < 0.2:
                ledger.check(log, power_cut=False)
        self.stage.is_quiet = False

    def _hold(self, power_cut: bool) -> None:
        """After a death: what is there is what was promised; the broker goes on from it."""
        assert self.manager is not None
        assert self.manager.directories[0].is_online
        self.stage.is_quiet = True
        for topic in TOPICS:
            log = self.manager.get(TopicPartition(topic, 0))
            ledger = self.ledgers.pop(topic, None)
            if log is not None and self._is_of(log, ledger, topic, power_cut):
                assert ledger is not None
                found = ledger.check(log, power_cut=power_cut)
                ledger.is_created, ledger.is_being_deleted = True, False
                ledger.adopt(log, found, power_cut=power_cut)
                log.topic_id = ledger.topic_id
                log.update_high_watermark(log.log_end_offset)
                self.ledgers[topic] = ledger
                continue
            if ledger is not None:
                self._check_may_be_gone(ledger, power_cut)
                self.past[topic].append(ledger)
        self._was_power_cut = False
        self.stage.is_quiet = False
        self._survive(self._mend_topics)

    def _is_of(self, log: ManagedLog, ledger: Ledger | None, topic: str, power_cut: bool) -> bool:
        """Whether a log is that of the topic there should be; an old one is set aside."""
        assert self.manager is not None
        topic_id = self.manager.topic_id(log.partition)
        if topic_id is None:  # not synced yet: the records tell
            serials = {serial_of(r) for _, _, records in batches_of(log) for r in records}
            is_old = any(serials & old.serials for old in self.past[topic])
            topic_id = ledger.topic_id if ledger is not None and not is_old else None
        if ledger is not None and topic_id == ledger.topic_id:
            return True
        assert power_cut, f"{topic}: a deleted log is back"
        return False

    def _check_may_be_gone(self, ledger: Ledger, power_cut: bool) -> None:
        if ledger.is_being_deleted or not ledger.is_created:
            return
        assert power_cut and ledger.durable_end <= ledger.start, f"{ledger.topic} is gone"

    def _mend_topics(self) -> None:
        """As the controller does: logs of no topic go, missing ones are made."""
        assert self.manager is not None
        for topic in TOPICS:
            if topic not in self.ledgers:
                if self.manager.get(TopicPartition(topic, 0)) is not None:
                    self.manager.set_aside_stray(TopicPartition(topic, 0))
                self._create(topic)
        for ledger in self.ledgers.values():
            if not ledger.is_created:
                self._make(ledger)

    def _check_nothing_to_mend(self) -> None:
        assert self.manager is not None
        notes = [note for log in self.manager for note in log.load_report.notes]
        assert not notes, notes
        self._look()

    # --- operations --------------------------------------------------------------------

    def _log(self, topic: str) -> ManagedLog:
        assert self.manager is not None
        log = self.manager.get(TopicPartition(topic, 0))
        assert log is not None
        return log

    def _any(self) -> tuple[ManagedLog, Ledger]:
        topic = self.chance.choice(TOPICS)
        return self._log(topic), self.ledgers[topic]

    def _create(self, topic: str) -> None:
        topic_id = self.chance.randbytes(16)
        self.ledgers[topic] = Ledger(topic, topic_id, self.configs[topic])
        self._make(self.ledgers[topic])

    def _make(self, ledger: Ledger) -> None:
        assert self.manager is not None
        partition = TopicPartition(ledger.topic, 0)
        self.manager.create(partition, ledger.config, self.now_ms, topic_id=ledger.topic_id)
        ledger.is_created = True

    def append(self) -> None:
        """One batch, with a sequence or not."""
        self.now_ms += self.chance.choice((0, 1, 20))
        log, ledger = self._any()
        count = self.chance.choice((1, 1, 2, 5))
        records = [self._record(ledger.end + number) for number in range(count)]
        facts = {}
        if self.chance.random() < 0.3:
            facts = {"producer_id": 7, "producer_epoch": 0, "base_sequence": _next_sequence(log)}
        batch = build_batch([replace(r, offset=n) for n, r in enumerate(records)], **facts)
        self._tell(ledger.topic, *((r.offset, r.key, r.value and len(r.value)) for r in records))
        ledger.in_flight = records
        ledger.serials.update(map(serial_of, records))
        log.append_as_leader(batch, self.deaths, self.now_ms)
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
        self.now_ms += self.chance.choice((0, 20, 100, 1_000))
        for _ in range(self.chance.choice((1, 4))):
            if self.manager.background(self.now_ms) > self.now_ms:
                break

    def flush(self) -> None:
        assert self.manager is not None
        log, ledger = self._any()
        self._tell(ledger.topic)
        end, truncations = log.log_end_offset, log.truncations

        def done() -> None:
            if log.truncations == truncations and self.ledgers.get(ledger.topic) is ledger:
                assert log.recovery_point >= end, "flushed, and yet not"

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
        self._tell(ledger.topic, offset, "of", ledger.end, "replicated", log.high_watermark)
        ledger.begin_truncation(offset, log.high_watermark)
        log.truncate_to(offset, self.now_ms)
        ledger.end_truncation(log.log_end_offset)

    def delete_records(self) -> None:
        log, ledger = self._any()
        offset = self.chance.randint(log.log_start_offset, log.high_watermark)
        self._tell(ledger.topic, offset)
        ledger.start = max(ledger.start, offset)
        log.maybe_increment_log_start_offset(offset)

    def delete(self) -> None:
        """Delete a topic, and create it again at once."""
        assert self.manager is not None
        topic = self.chance.choice(TOPICS)
        ledger = self.ledgers[topic]
        self._tell(topic)
        ledger.is_being_deleted = True
        self.manager.delete(TopicPartition(topic, 0))
        self.past[topic].append(self.ledgers.pop(topic))
        self._create(topic)

    def replicate(self) -> None:
        log, _ = self._any()
        log.update_high_watermark(log.log_end_offset)

    def pass_time(self) -> None:
        """Time passes, jumps, or goes back."""
        self.now_ms += self.chance.choice((500, 5_000, 5_000, 3_600_000, -700, -86_400_000))

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
        self.manager.close()
        for ledger in self.ledgers.values():
            ledger.durable_end = ledger.end
        self.stage.clear()
        self.manager = None
        self.disk.kill()
        self.stage.boot()
        self._open()
        self._hold(power_cut=False)

    def die(self) -> None:
        raise Killed


def _next_sequence(log: ManagedLog) -> int:
    entry = log.producers.producers.get(7)
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
    return history
