"""Flushing logs in the worker, each of them once at a time.

Whoever asks while a log is being flushed waits for the flush after that one, which serves all
who wait (a group commit). Nobody is told before a sync that covers what he asked for has
ended, that of the data directory in which the log's own was made included. Nobody is told of
what was cut meanwhile: other records have its offsets then, or none.
"""

from collections.abc import Callable
from functools import partial

from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.errors import LogDirectoryFailed, TooManyOpenFiles
from barnabas.storage.log.flush import Flush
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork
from barnabas.storage.manager.managed_log import ManagedLog

Done = Callable[[], object]


class Flusher:
    """The flushes in progress, and who waits for them."""

    def __init__(self, disk_work: DiskWork) -> None:
        self._work = disk_work.submit
        self._waiting: dict[ManagedLog, list[tuple[int, Done]]] = {}
        """Offsets below which all is to be durable, for each log that is being flushed."""
        self._stalled: list[ManagedLog] = []
        """Those of them that lacked a descriptor."""

    def __len__(self) -> int:
        """How many logs are being flushed."""
        return len(self._waiting)

    def is_flushing(self, log: ManagedLog) -> bool:
        """Whether a flush of the log is in progress."""
        return log in self._waiting

    def flush(self, log: ManagedLog, offset: int | None, done: Done = lambda: None) -> None:
        """Make a log durable up to `offset` (its end), and then call `done`.

        It is not called if that fails, nor if the log is truncated below `offset` before.
        """
        if not log.is_in_use:
            return
        wanted = (log.log_end_offset if offset is None else offset, done)
        if log in self._waiting:
            self._waiting[log].append(wanted)
        else:
            self._waiting[log] = [wanted]
            self._serve(log)

    def retry(self) -> None:
        """Go on with what lacked a descriptor."""
        stalled, self._stalled = self._stalled, []
        for log in stalled:
            if log in self._waiting:
                self._serve(log)

    def truncating(self, log: ManagedLog, offset: int) -> None:
        """What lies at `offset` and above goes: nobody is told that it is durable."""
        if log in self._waiting:
            self._waiting[log] = [each for each in self._waiting[log] if each[0] <= offset]

    def directory_failed(self, directory: DataDirectory) -> None:
        """Nobody is told of what was asked of a directory that has gone offline."""
        for log in [each for each in self._waiting if each.data_directory is directory]:
            del self._waiting[log]

    def _serve(self, log: ManagedLog) -> None:
        """Tell whoever has what he asked for, and flush for the rest."""
        waiting = self._waiting.pop(log)
        if not log.is_in_use:
            return
        durable = log.recovery_point
        served = [done for offset, done in waiting if offset <= durable]
        if left := [each for each in waiting if each[0] > durable]:
            self._waiting[log] = left
            self._begin(log, max(offset for offset, _ in left))
        for done in served:
            done()

    def _begin(self, log: ManagedLog, offset: int) -> None:
        try:
            flush = log.flusher.begin(offset)
        except LogDirectoryFailed:
            return  # the directory knows
        except TooManyOpenFiles:
            self._stalled.append(log)
            return
        assert flush is not None  # something above the recovery point is wanted
        directory = log.data_directory
        changes = directory.name_changes
        self._work(
            directory,
            partial(_sync, log, flush, directory if directory.has_unsynced_names else None),
            partial(self._flushed, log, flush, changes),
        )

    def _flushed(self, log: ManagedLog, flush: Flush, directory_changes: int) -> None:
        log.data_directory.names_synced(directory_changes)
        if log.is_in_use:
            log.flusher.end(flush)
        self._serve(log)


def _sync(log: ManagedLog, flush: Flush, directory: DataDirectory | None) -> None:
    """Sync a log's files, and the directory in which its own was made.

    Runs in the worker. A log that is deleted meanwhile moves away, which is no failure.
    """
    try:
        flush.sync()
    except FileNotFoundError:
        if log.is_in_use:
            raise
    if directory is not None:
        sync_directory(directory.fs, directory.path)
