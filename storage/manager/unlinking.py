"""Unlinking what was set aside and whose delay is over, in the worker.

One order of each data directory is with the worker at a time. Nobody waits for these files, and
thousands of orders at once would keep the syncs waiting for which somebody does.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from barnabas.storage.disk.fs import FileSystem, remove_path, remove_tree
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork
from barnabas.storage.manager.managed_log import partition_of
from barnabas.storage.manager.sweeps import LOOK, WAIT

FILES_AT_ONCE: Final = 64


class Unlinking:
    """Unlinks the files of directories, some at a time."""

    def __init__(self, disk_work: DiskWork) -> None:
        self._work = disk_work.submit
        self._at_work: set[DataDirectory] = set()
        self._taking: set[DataDirectory] = set()
        """Where paths are held for which no order has been given yet."""

    def is_at_work_in(self, directory: DataDirectory) -> bool:
        """Whether something of a directory is being unlinked, or about to be: no log's own may
        get another name, or those files stay."""
        return directory in self._at_work or directory in self._taking

    def sweep(self, directory: DataDirectory) -> Iterator[int]:
        """Unlink what is due in a directory, and whole partitions that were deleted."""
        self._taking.add(directory)
        try:
            yield from self._unlink_files(directory)
        finally:
            self._taking.discard(directory)
        yield from self._remove_partitions(directory)

    def _unlink_files(self, directory: DataDirectory) -> Iterator[int]:
        due: list[str] = []
        for log in sorted(directory.to_unlink, key=partition_of):
            paths, next_due_ms = log.store.deletions.take_due(directory.monotonic_ms)
            if next_due_ms is None:
                directory.to_unlink.discard(log)
            due += paths
            yield LOOK
            while len(due) >= FILES_AT_ONCE:
                some = due[:FILES_AT_ONCE]
                del due[:FILES_AT_ONCE]
                yield from self._unlink(directory, some)
        if due:
            yield from self._unlink(directory, due)

    def _unlink(self, directory: DataDirectory, paths: Sequence[str]) -> Iterator[int]:
        yield from self._wait(directory)
        self._at_work.add(directory)
        order = partial(_remove_paths, directory.fs, paths)
        self._work(directory, order, partial(self._at_work.discard, directory))
        yield LOOK

    def _remove_partitions(self, directory: DataDirectory) -> Iterator[int]:
        now_ms = directory.monotonic_ms
        for entry in [each for each in directory.to_remove if each[0] <= now_ms]:
            yield from self._wait(directory)
            directory.to_remove.remove(entry)
            self._at_work.add(directory)
            order = partial(remove_tree, directory.fs, entry[1])
            self._work(directory, order, partial(self._at_work.discard, directory))
            yield LOOK

    def _wait(self, directory: DataDirectory) -> Iterator[int]:
        while directory in self._at_work and directory.is_online:
            yield WAIT


def _remove_paths(fs: FileSystem, paths: Sequence[str]) -> None:
    for path in paths:
        remove_path(fs, path)
