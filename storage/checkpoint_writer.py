"""Writing data directories' checkpoint files in the worker, one write of each at a time.

What is asked for while a file is being written is written afterwards, once, as things stand
then: a thousand truncations in a row cost two writes.
"""

from functools import partial

from barnabas.storage.checkpoints import CLEANER, RECOVERY_POINT, Offsets, build_offsets
from barnabas.storage.data_directory import DataDirectory
from barnabas.storage.disk_work import DiskWork
from barnabas.storage.fs import replace_file


class CheckpointWriter:
    """Brings checkpoint files up to date."""

    def __init__(self, disk_work: DiskWork) -> None:
        self._disk_work = disk_work
        self._written: dict[str, Offsets] = {}
        self._being_written: set[str] = set()
        self._asked_again: set[str] = set()

    def write(self, directory: DataDirectory, name: str) -> None:
        """Let a checkpoint say what is true now."""
        path = f"{directory.path}/{name}"
        if path in self._being_written:
            self._asked_again.add(path)
        else:
            self.refresh(directory, name)

    def write_truncation(self, directory: DataDirectory) -> None:
        """Let no checkpoint lie beyond the end of a log that has been truncated.

        What is appended from there on is not on the disk, whatever lay there before.
        """
        self.write(directory, RECOVERY_POINT)
        self.write(directory, CLEANER)

    def refresh(self, directory: DataDirectory, name: str) -> None:
        """Write a checkpoint that has changed; while it is being written, nothing."""
        path = f"{directory.path}/{name}"
        if path in self._being_written:
            return
        offsets = directory.offsets_for(name)
        if self._written.get(path) != offsets:
            self._being_written.add(path)
            self._disk_work.submit(
                directory,
                partial(replace_file, directory.fs, path, build_offsets(offsets)),
                partial(self._done, directory, name, path, offsets),
            )

    def _done(self, directory: DataDirectory, name: str, path: str, offsets: Offsets) -> None:
        self._being_written.discard(path)
        self._written[path] = offsets
        if path in self._asked_again:
            self._asked_again.discard(path)
            self.write(directory, name)
