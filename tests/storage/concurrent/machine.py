"""A broker's data directory on a machine that dies and comes back, and what is held against it.

`survive` does something; whenever the machine dies over it, the directory is opened again, as
often as that takes, and every log in it is held against its ledger (`ledger`).
"""

import random
from collections.abc import Callable, Sequence

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import exists
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.loading.job import LoadJob, Recovered, RecoveryFailed
from barnabas.storage.loading.loader import Loader
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..faulty_disk import Killed
from ..log_checks import batches_of, serial_of
from .ledger import Ledger
from .memory_disk import MemoryDisk
from .stepping import Stage

START_MS = 1_800_000_000_000
ROOT = "/data"
TOPICS = ("kept", "compacted", "both")


class Machine:
    """A disk, a broker's logs on it, and a ledger for each topic."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now_ms = START_MS
        self.monotonic_ms = 0
        self.disk = MemoryDisk()
        self.disk.now_ms = lambda: self.now_ms
        self.stage = Stage(self.disk, self.chance)
        self.settings = LogManagerConfig()
        self.configs: dict[str, LogConfig] = {}
        self.ledgers: dict[str, Ledger] = {}
        self.past: dict[str, list[Ledger]] = {topic: [] for topic in TOPICS}
        """Of topics that were deleted or lost."""
        self.manager: LogManager | None = None
        self.deaths = 0
        self.is_closing = False
        self.had_power_cut = False
        """Since the logs were last held against the ledgers."""
        self.told: list[str] = []

    def prepare(self) -> None:
        """The directory was there before anything happens, and is signed."""
        self.disk._make_directory(ROOT)
        self.disk.root.sync()
        self.open()
        for topic in TOPICS:
            self.create(topic)
        self.draw_lives()

    def tell(self, *what: object) -> None:
        """Note what happens, for a failure."""
        self.told.append(" ".join(map(str, what)))

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.now_ms += ms
        self.monotonic_ms += ms

    def draw_lives(self) -> None:
        """After how many file calls the machine dies next, if at all."""
        lives = self.chance.choice((None, 30, 300, 1_000))
        self.stage.lives = lives and self.chance.randint(1, lives)

    def survive(self, operation: Callable[[], None]) -> None:
        """Do something; whenever the machine dies over it, bring it back."""
        self.tell(operation.__name__)
        try:
            operation()
        except Killed:
            self._die_and_come_back()

    def _die_and_come_back(self) -> None:
        while True:
            self._fall()
            try:
                self.draw_lives()
                self.open()
            except Killed:
                continue
            self.hold()
            return

    def _fall(self) -> None:
        """The machine dies: by a power cut or not."""
        self.deaths += 1
        self.stage.clear()
        self._note_last_words()
        if self.chance.random() < 0.6:
            self.tell("POWER CUT")
            self.disk.cut_power(self.chance)
            if not (self.is_closing or self.had_power_cut):
                self._check_recovery_points()
            self.had_power_cut = True
        else:
            self.tell("KILLED")
            self.disk.kill()
        self.stage.boot()

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
            if ledger.truncating_to is None:
                assert point <= max(ledger.durable_end, ledger.start) or (
                    ledger.end <= ledger.durable_end
                ), f"{topic}: the recovery point is {point}, durable is {ledger.durable_end}"

    def open(self) -> None:
        self.manager = LogManager(
            [ROOT],
            self.settings,
            fs=self.stage.fs,
            worker=self.stage.worker,
            compactor=self.stage.compactor,
            recover=self._recover,
            open_files=self.chance.choice((3, 8, 512)),
        )
        self.manager.open(
            self.configs.__getitem__,
            self.now_ms,
            self.monotonic_ms,
            broker_id=1,
            cluster_id="bench",
            replicas_of=self._replicas_of,
        )

    def _replicas_of(self, partition: TopicPartition, topic_id: bytes | None) -> int:
        """As the registry says; only a power cut brings back what was deleted."""
        ledger = self.ledgers.get(partition.topic)
        if topic_id is None or (ledger is not None and topic_id == ledger.topic_id):
            return 2
        assert self.had_power_cut, f"{partition}: a deleted log is back"
        return 0

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
            windows = loader.producers.windows()
            results.append(
                Recovered(loader.recovery_point, loader.log_start_offset, loader.report, windows)
            )
        return results

    # --- checks ------------------------------------------------------------------------

    def look(self) -> None:
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

    def hold(self) -> None:
        """After a death: what is there is what was promised; the broker goes on from it."""
        assert self.manager is not None
        assert self.manager.directories[0].is_online
        self.stage.is_quiet = True
        for topic in TOPICS:
            log = self.manager.get(TopicPartition(topic, 0))
            ledger = self.ledgers.pop(topic, None)
            if log is not None and ledger is not None and not self._is_old(log, topic):
                self._check_recovered(log)
                found = ledger.check(log, power_cut=self.had_power_cut)
                ledger.is_created, ledger.is_being_deleted = True, False
                ledger.adopt(log, found, power_cut=self.had_power_cut)
                self.manager.create(log.partition, log.config, 0, topic_id=ledger.topic_id)
                log.update_high_watermark(log.log_end_offset)
                self.ledgers[topic] = ledger
                continue
            if ledger is not None:
                self._check_may_be_gone(ledger)
                self.past[topic].append(ledger)
        self.had_power_cut = self.is_closing = False
        self.stage.is_quiet = False
        self.survive(self.mend_topics)

    def _check_recovered(self, log: ManagedLog) -> None:
        """What recovery has made anew below the recovery point is durable: no flush comes by."""
        recovered = log.load_report.recovered_segments
        ends = [*log.segments.base_offsets[1:], log.log_end_offset]
        for segment, end in zip(log.segments, ends, strict=True):
            if segment.base_offset in recovered and end <= log.recovery_point:
                for file in segment.each_file():
                    if exists(self.stage.fs, file.path):
                        assert self.disk.is_sure(file.path), f"{file.path} is not durable"

    def _is_old(self, log: ManagedLog, topic: str) -> bool:
        """Whether a log without a synced topic id holds records of a topic before this one."""
        assert self.manager is not None
        if self.manager.topic_id(log.partition) is not None:
            return False
        serials = {serial_of(r) for _, _, records in batches_of(log) for r in records}
        is_old = any(serials & past.serials for past in self.past[topic])
        assert self.had_power_cut or not is_old, f"{topic}: a deleted log is back"
        return is_old

    def _check_may_be_gone(self, ledger: Ledger) -> None:
        if ledger.is_created and not ledger.is_being_deleted:
            is_unsure = self.had_power_cut and ledger.durable_end <= ledger.start
            assert is_unsure, f"{ledger.topic} is gone"

    def mend_topics(self) -> None:
        """As the controller does: logs of no topic go, missing ones are made."""
        assert self.manager is not None
        for topic in TOPICS:
            if topic not in self.ledgers:
                self.manager.delete(TopicPartition(topic, 0))
                self.create(topic)
        for ledger in self.ledgers.values():
            if not ledger.is_created:
                self._make(ledger)

    def check_nothing_to_mend(self) -> None:
        assert self.manager is not None
        notes = [note for log in self.manager for note in log.load_report.notes]
        assert not notes, notes
        self.look()

    # --- topics ------------------------------------------------------------------------

    def create(self, topic: str) -> None:
        topic_id = self.chance.randbytes(16)
        self.ledgers[topic] = Ledger(topic, topic_id, self.configs[topic])
        self._make(self.ledgers[topic])

    def _make(self, ledger: Ledger) -> None:
        assert self.manager is not None
        partition = TopicPartition(ledger.topic, 0)
        self.manager.create(partition, ledger.config, self.now_ms, topic_id=ledger.topic_id)
        ledger.is_created = True
