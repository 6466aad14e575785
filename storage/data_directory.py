"""One of a broker's data directories: its lock, its checkpoints, the logs that live in it.

A directory works or has failed, for good: an `OSError` from any file call means that nothing
is known of what is on its disk (KIP-112). Its logs are then offline; other directories go on.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator

from barnabas.storage import checkpoints, clean_shutdown
from barnabas.storage.checkpoints import Offsets
from barnabas.storage.directory_lock import DirectoryLock
from barnabas.storage.directory_names import (
    DELETED,
    FUTURE,
    STRAY,
    PartitionDirectory,
    TopicPartition,
    name_with_suffix,
    parse_name,
)
from barnabas.storage.errors import CorruptCheckpoint, InconsistentLogDirectory
from barnabas.storage.file_slice import FileCache
from barnabas.storage.fs import FileSystem
from barnabas.storage.log_config import LogConfig
from barnabas.storage.managed_log import ManagedLog
from barnabas.storage.partition_metadata import read_topic_id, write_topic_id

_logger = logging.getLogger(__name__)

ConfigOf = Callable[[str], LogConfig]
"""The config of a topic's logs, by its name."""


class DataDirectory:
    """A data directory and its open logs."""

    def __init__(
        self,
        path: str,
        files: FileCache,
        *,
        producer_id_expiration_ms: int,
        full_validation: bool = False,
        on_failure: Callable[["DataDirectory"], None],
    ) -> None:
        self.path = path
        self.files = files
        self.fs: FileSystem = files.fs
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self._full_validation = full_validation
        self._on_failure = on_failure
        self._lock: DirectoryLock | None = None
        self.failure: OSError | None = None
        """Why the directory is offline, None while it works."""
        self.logs: dict[TopicPartition, ManagedLog] = {}
        self.to_flush: set[ManagedLog] = set()
        """Logs with a closed segment that is not flushed yet."""
        self.to_unlink: set[ManagedLog] = set()
        """Logs with set-aside files."""
        self.to_remove: deque[tuple[int, str]] = deque()
        """(due, path) of deleted partitions' directories."""
        self.clean_offsets: Offsets = {}
        """Compaction has seen all before these (`cleaner-offset-checkpoint`)."""
        self.is_unsynced = False
        """Partitions' directories were made or renamed since it was last synced."""
        self.was_clean = False
        self.broker_epoch = clean_shutdown.NO_BROKER_EPOCH
        self._recovery_points: Offsets = {}
        self._log_starts: Offsets = {}
        self._high_watermarks: Offsets = {}

    def __repr__(self) -> str:
        return f"DataDirectory({self.path!r}, {len(self.logs)} logs)"

    @property
    def is_online(self) -> bool:
        return self.failure is None

    def fail(self, error: OSError) -> None:
        """Take the directory offline; further failures add nothing."""
        if self.failure is None:
            self.failure = error
            _logger.error("%s: %s; its partitions are offline", self.path, error)
            for log in self.logs.values():
                log.close_files()
            self._on_failure(self)

    # --- opening -----------------------------------------------------------------------

    @property
    def is_locked(self) -> bool:
        """Whether this process holds the directory."""
        return self._lock is not None

    def lock(self) -> None:
        """Take the directory for this process, making it if it is missing.

        Raises LogDirectoryLocked, or OSError.
        """
        self._make()
        self._lock = DirectoryLock(self.fs, self.path)

    def _make(self) -> None:
        missing = []
        path = self.path
        while True:
            try:
                self.fs.stat(path)
                break
            except FileNotFoundError:
                missing.append(path)
                path = path.rpartition("/")[0] or "/"
        for path in reversed(missing):
            self.fs.make_directory(path)

    def read_checkpoints(self) -> None:
        """Read what the last run left; the clean shutdown marker is gone afterwards."""
        epoch = clean_shutdown.take(self.fs, self.path)
        if epoch is not None:
            self.was_clean = True
            self.broker_epoch = epoch
        self._recovery_points = self._read(checkpoints.RECOVERY_POINT)
        self._log_starts = self._read(checkpoints.LOG_START)
        self._high_watermarks = self._read(checkpoints.REPLICATION)
        self.clean_offsets = self._read(checkpoints.CLEANER)

    def _read(self, name: str) -> Offsets:
        """A checkpoint that makes no sense counts as missing: more is recovered, no more."""
        try:
            return checkpoints.read_offsets(self.fs, f"{self.path}/{name}")
        except CorruptCheckpoint as error:
            _logger.warning("%s; it is made anew", error)
            return {}

    def partition_directories(self) -> Iterator[tuple[str, PartitionDirectory]]:
        """Names and meanings of the directories that hold, or held, a partition."""
        for name in sorted(self.fs.list_directory(self.path)):
            parsed = parse_name(name)
            if parsed is not None:
                yield name, parsed

    def load(self, config_of: ConfigOf, now_ms: int) -> None:
        """Open every log; leftovers of deleted ones are removed when their delay is over."""
        configs: dict[str, LogConfig] = {}
        for name, (partition, suffix) in self.partition_directories():
            config = configs.get(partition.topic)
            if config is None:
                config = configs[partition.topic] = config_of(partition.topic)
            if not suffix:
                self._load_log(partition, config, now_ms)
            elif suffix == DELETED:
                due_ms = now_ms + config.file_delete_delay_ms
                self.to_remove.append((due_ms, f"{self.path}/{name}"))
            elif suffix in (STRAY, FUTURE):
                _logger.warning("%s/%s is left alone", self.path, name)
        self._recovery_points = self._log_starts = self._high_watermarks = {}

    def _load_log(self, partition: TopicPartition, config: LogConfig, now_ms: int) -> None:
        try:
            self._open_log(partition, config, now_ms)
        except NotADirectoryError:
            _logger.warning("%s/%s is no directory; it is left alone", self.path, partition)

    def _open_log(
        self, partition: TopicPartition, config: LogConfig, now_ms: int, *, is_new: bool = False
    ) -> ManagedLog:
        log = ManagedLog.open(
            f"{self.path}/{partition}",
            str(partition),
            config,
            now_ms,
            clean_shutdown=self.was_clean or is_new,
            recovery_point=self._recovery_points.get(partition, 0),
            log_start_offset=self._log_starts.get(partition, 0),
            files=self.files,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
            full_validation=self._full_validation,
        )
        assert isinstance(log, ManagedLog)
        log.data_directory = self
        log.partition = partition
        log.topic_id = None
        log.flushed_ms = now_ms
        if high_watermark := self._high_watermarks.get(partition, 0):
            log.update_high_watermark(high_watermark)
        self.logs[partition] = log
        return log

    # --- logs --------------------------------------------------------------------------

    def create_log(
        self, partition: TopicPartition, config: LogConfig, now_ms: int, topic_id: bytes | None
    ) -> ManagedLog:
        """Make a partition's directory and open its empty log; raises OSError."""
        path = f"{self.path}/{partition}"
        try:
            self.fs.make_directory(path)
        except FileExistsError:
            _logger.warning("%s is there already; it is used", path)
        self.is_unsynced = True
        if topic_id is not None:
            write_topic_id(self.fs, path, topic_id)
        log = self._open_log(partition, config, now_ms, is_new=True)
        log.topic_id = topic_id
        return log

    def topic_id(self, log: ManagedLog) -> bytes | None:
        """The topic id noted in a partition's directory; unreadable counts as none."""
        if log.topic_id is None:
            try:
                log.topic_id = read_topic_id(self.fs, log.directory)
            except CorruptCheckpoint as error:
                _logger.warning("%s; it is noted anew", error)
        return log.topic_id

    def assign_topic_id(self, log: ManagedLog, topic_id: bytes) -> None:
        """Note a topic id; raises InconsistentLogDirectory if another one is noted."""
        noted = self.topic_id(log)
        if noted is None:
            write_topic_id(self.fs, log.directory, topic_id)
            log.topic_id = topic_id
        elif noted != topic_id:
            raise InconsistentLogDirectory(
                f"{log.directory} belongs to topic id {noted.hex()}, not {topic_id.hex()}",
                topic_partition=log.topic_partition,
            )

    def set_aside(self, log: ManagedLog, suffix: str) -> str:
        """Take a log out of use: its directory is renamed. Raises OSError; the new path."""
        log.close_files()
        del self.logs[log.partition]
        self.to_flush.discard(log)
        self.to_unlink.discard(log)
        self.clean_offsets.pop(log.partition, None)
        path = f"{self.path}/{name_with_suffix(log.partition, suffix)}"
        self.fs.rename(log.directory, path)
        self.is_unsynced = True
        return path

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Forget producers that have been silent for so long, in logs old and new."""
        self._producer_id_expiration_ms = expiration_ms
        for log in self.logs.values():
            log.producer_id_expiration_ms = expiration_ms

    # --- closing -----------------------------------------------------------------------

    def close(self) -> None:
        """Flush and close every log and leave the clean shutdown marker; raises OSError.

        `close_files` has to follow, whatever happens here.
        """
        for log in self.logs.values():
            log.close()
        for name in checkpoints.PERIODIC:
            checkpoints.write_offsets(self.fs, f"{self.path}/{name}", self.offsets_for(name))
        clean_shutdown.mark(self.fs, self.path, self.broker_epoch)

    def close_files(self) -> None:
        """Give up all descriptors and the lock."""
        for log in self.logs.values():
            log.close_files()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def offsets_for(self, checkpoint: str) -> Offsets:
        """What a checkpoint file should say now."""
        return _OFFSETS_FOR[checkpoint](self)

    def space_bytes(self) -> tuple[int, int]:
        """Total and usable bytes of the directory's volume (KIP-827); raises OSError."""
        volume = self.fs.statvfs(self.path)
        return volume.f_frsize * volume.f_blocks, volume.f_frsize * volume.f_bavail


def _recovery_points(directory: DataDirectory) -> Offsets:
    return {partition: log.recovery_point for partition, log in directory.logs.items()}


def _log_starts(directory: DataDirectory) -> Offsets:
    """Only starts that the segments do not show."""
    return {
        partition: log.log_start_offset
        for partition, log in directory.logs.items()
        if log.log_start_offset > log.segments.first.base_offset
    }


def _high_watermarks(directory: DataDirectory) -> Offsets:
    return {partition: log.high_watermark for partition, log in directory.logs.items()}


def _clean_offsets(directory: DataDirectory) -> Offsets:
    """Without those of partitions that are not here any more."""
    return {
        partition: offset
        for partition, offset in directory.clean_offsets.items()
        if partition in directory.logs
    }


_OFFSETS_FOR = {
    checkpoints.RECOVERY_POINT: _recovery_points,
    checkpoints.LOG_START: _log_starts,
    checkpoints.REPLICATION: _high_watermarks,
    checkpoints.CLEANER: _clean_offsets,
}
