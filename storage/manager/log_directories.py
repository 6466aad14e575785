"""The data directories of a broker: opened and closed together, failing one by one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from barnabas.storage.directory.meta_properties import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import InconsistentLogDirectory, LogDirectoryFailed, OpeningGivenUp
from barnabas.storage.loading.unopened_logs import Recover, recover_elsewhere, recover_in_children
from barnabas.storage.manager.data_directory import ConfigOf, DataDirectory, ReplicasOf
from barnabas.storage.manager.unfinished_moves import settle_moves


class LogDirectories:
    """Data directories, and in which of them each partition lies."""

    def __init__(
        self,
        paths: Sequence[str],
        fs: FileSystem,
        open_files: int,
        *,
        producer_id_expiration_ms: int,
        full_validation: bool,
        recovery_processes: int,
        recovery_small_bytes: int,
        recovery_child_bytes: int,
        recover: Recover | None,
    ) -> None:
        self.fs = fs
        self.files = FileCache(fs, open_files)
        self.directories = [
            DataDirectory(
                path.rstrip("/") or "/",
                self.files,
                producer_id_expiration_ms=producer_id_expiration_ms,
                full_validation=full_validation,
                recovery_small_bytes=recovery_small_bytes,
                on_failure=self._directory_failed,
            )
            for path in paths
        ]
        self.on_directory_failed: Callable[[DataDirectory], None] = lambda directory: None
        """Told once of each directory that goes offline."""
        self._recovery_processes = recovery_processes
        self._recovery_child_bytes = recovery_child_bytes
        self.is_given_up = False
        for directory in self.directories:
            directory.before_opening = self._require_wanted
        # Children have the real file calls.
        if recover is None and fs is REAL:
            recover = partial(recover_in_children, is_given_up=lambda: self.is_given_up)
        self._recover = recover
        self._homes: dict[TopicPartition, DataDirectory] = {}

    def _online(self) -> list[DataDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    def _directory_failed(self, directory: DataDirectory) -> None:
        self.on_directory_failed(directory)

    def lock(self) -> None:
        """Take the directories' locks; for whoever has more in them than logs, before `open`.

        Raises LogDirectoryLocked, and LogDirectoryFailed if no directory works.
        """
        for directory in self._online():
            if not directory.is_locked:
                self._guard(directory, directory.lock)
        self._require_one_online()

    def _open(
        self,
        config_of: ConfigOf,
        now_ms: int,
        broker_id: int | None,
        cluster_id: str | None,
        replicas_of: ReplicasOf | None,
    ) -> None:
        try:
            self.lock()
            for directory in self._online():
                self._guard(directory, self._check_identity, directory, broker_id, cluster_id)
            self._settle_moves()
            for directory in self._online():
                self._guard(directory, self._load, directory, config_of, now_ms, replicas_of)
            self._recover_elsewhere()
            for directory in self._online():
                self._guard(directory, self._finish_loading, directory)
            if broker_id is not None or cluster_id is not None:
                meta = MetaProperties(0, broker_id, cluster_id)
                for directory in self._online():
                    self._guard(directory, self._sign, directory, meta, now_ms)
            self._require_one_online()
        except BaseException:
            self._close_files()
            raise

    def give_up_opening(self) -> None:
        """Let `open` end soon, by OpeningGivenUp; for whoever opens in another thread."""
        self.is_given_up = True

    def _require_wanted(self) -> None:
        if self.is_given_up:
            raise OpeningGivenUp("the logs are not wanted any more")

    def _guard(
        self, directory: DataDirectory, step: Callable[..., object], *arguments: object
    ) -> None:
        """Run a step; a file error in it takes the directory offline."""
        try:
            step(*arguments)
        except OSError as error:
            directory.fail(error)
        except LogDirectoryFailed:
            pass  # the log has said so to its directory

    def _check_identity(
        self, directory: DataDirectory, broker_id: int | None, cluster_id: str | None
    ) -> None:
        meta = read_meta_properties(self.fs, directory.path)
        if meta is not None:
            meta.check(directory.path, broker_id, cluster_id)
            directory.is_signed = meta.cluster_id is not None

    def _sign(self, directory: DataDirectory, meta: MetaProperties, now_ms: int) -> None:
        """Note in a new directory whose it is."""
        if read_meta_properties(self.fs, directory.path) is None:
            write_meta_properties(self.fs, directory.path, meta, now_ms)

    def _load(
        self,
        directory: DataDirectory,
        config_of: ConfigOf,
        now_ms: int,
        replicas_of: ReplicasOf | None,
    ) -> None:
        try:
            directory.read_checkpoints()
            directory.load(config_of, now_ms, replicas_of)
        finally:
            self._note_homes(directory)

    def _settle_moves(self) -> None:
        online = self._online()
        all_work = len(online) == len(self.directories)
        settle_moves(online, self._guard, all_work=all_work)

    def _recover_elsewhere(self) -> None:
        """Logs with much to recover, in child processes."""
        if self._recover is not None:
            directories = [each for each in self._online() if each.unopened]
            recover_elsewhere(
                [log for directory in directories for log in directory.unopened],
                self._recovery_processes * len(directories),
                [each.lock_fd for each in directories if each.lock_fd is not None],
                self._recover,
                self._recovery_child_bytes,
            )

    def _finish_loading(self, directory: DataDirectory) -> None:
        try:
            directory.finish_loading()
        finally:
            self._note_homes(directory)

    def _note_homes(self, directory: DataDirectory) -> None:
        """Where partitions lie; of a directory that fails half-way too, as they are offline."""
        unopened = [each.partition for each in directory.unopened if not each.is_future]
        found = [*directory.logs, *unopened]
        for partition in found:
            other = self._homes.setdefault(partition, directory)
            if other is not directory:
                raise InconsistentLogDirectory(
                    f"{partition} lies both in {other.path} and in {directory.path}"
                )

    def _require_one_online(self) -> None:
        if not self._online():
            reasons = "; ".join(f"{each.path}: {each.failure}" for each in self.directories)
            raise LogDirectoryFailed(f"no data directory works: {reasons}")

    def _closing(self) -> Iterator[None]:
        try:
            for directory in self._online():
                try:
                    yield from directory.closing()
                except OSError as error:
                    directory.fail(error)
                except LogDirectoryFailed:
                    pass  # the log has said so to its directory
        finally:
            self._close_files()

    def _close_files(self) -> None:
        for directory in self.directories:
            directory.close_files()
