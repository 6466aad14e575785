"""A data directory as files: its lock, its checkpoints, the partitions' directories in it."""

import logging
from collections.abc import Iterator

from barnabas.storage.directory import checkpoints, clean_marker
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.directory_names import PartitionDirectory, parse_name
from barnabas.storage.disk.fs import parent_of, sync_directory
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptCheckpoint

_logger = logging.getLogger(__name__)


class DataDirectoryFiles:
    """What a data directory holds beside its logs, as the last run left it."""

    def __init__(self, path: str, files: FileCache) -> None:
        self.path = path
        self.files = files
        self.fs = files.fs
        self._lock: DirectoryLock | None = None
        self.was_clean = False
        self.broker_epoch = clean_marker.NO_BROKER_EPOCH
        self.clean_offsets: Offsets = {}
        """Compaction has seen all before these (`cleaner-offset-checkpoint`)."""
        self.checkpoints_read: dict[str, Offsets] = {}
        """What each checkpoint held at the start, if it made sense."""
        self._recovery_points: Offsets = {}
        self._log_starts: Offsets = {}
        self._high_watermarks: Offsets = {}

    @property
    def is_locked(self) -> bool:
        """Whether this process holds the directory."""
        return self._lock is not None

    @property
    def lock_fd(self) -> int | None:
        """The descriptor that holds the lock; whoever has a copy of it holds it too."""
        return None if self._lock is None else self._lock.fd

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
            sync_directory(self.fs, parent_of(path))

    def read_checkpoints(self) -> None:
        """Read what the last run left; the clean shutdown marker is gone afterwards."""
        epoch = clean_marker.take(self.fs, self.path)
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
            offsets = checkpoints.read_offsets(self.fs, f"{self.path}/{name}")
            self.checkpoints_read[name] = dict(offsets)
            return offsets
        except CorruptCheckpoint as error:
            _logger.warning("%s; it is made anew", error)
            return {}

    def partition_directories(self) -> Iterator[tuple[str, PartitionDirectory]]:
        """Names and meanings of the directories that hold, or held, a partition."""
        for name in sorted(self.fs.list_directory(self.path)):
            parsed = parse_name(name)
            if parsed is not None:
                yield name, parsed

    def space_bytes(self) -> tuple[int, int]:
        """Total and usable bytes of the directory's volume (KIP-827); raises OSError."""
        volume = self.fs.statvfs(self.path)
        return volume.f_frsize * volume.f_blocks, volume.f_frsize * volume.f_bavail

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
