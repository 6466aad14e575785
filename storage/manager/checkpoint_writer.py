"""Writing data directories' checkpoint files, one write of each at a time.

In the ordinary way a checkpoint follows the logs: its content is written beside the file and
synced in the worker, given its name here, and the name synced in the worker. What is asked
for meanwhile is written afterwards, once, as things stand then.

A truncation cannot wait for that. What is appended from there on lies where something else lay
that was durable, so before anything is cut no checkpoint on the disk may speak of an offset
beyond: recovery would not look at it, compaction would take it for clean, and a log that ends
below the start noted for it is dropped. Hence `lower` writes on the spot, in a temporary file
of its own; a write in progress is overtaken, and begun anew.

    before the checkpoints are written    the log is as it was
    before anything is cut                more is recovered than need be
    while it is cut                       from the end on: what is left has no gap
"""

from functools import partial

from barnabas.storage.directory.checkpoints import ALL, Offsets, build_offsets
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import replace_file, sync_directory, write_file
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork

_NEXT = ".tmp"
_LOWERED = ".lowered.tmp"


class CheckpointWriter:
    """Brings checkpoint files up to date."""

    def __init__(self, disk_work: DiskWork) -> None:
        self._disk_work = disk_work
        self._written: dict[str, Offsets] = {}
        """What each file holds for certain, by its path."""
        self._being_written: dict[str, Offsets] = {}
        self._asked_again: set[str] = set()
        self._overtaken: set[str] = set()
        """Those being written whose content must not get into the file any more."""

    def write(self, directory: DataDirectory, name: str) -> None:
        """Let a checkpoint say what is true now."""
        path = f"{directory.path}/{name}"
        if path in self._being_written:
            self._asked_again.add(path)
        else:
            self.refresh(directory, name)

    def refresh(self, directory: DataDirectory, name: str) -> None:
        """Write a checkpoint that has changed; while it is being written, nothing."""
        path = f"{directory.path}/{name}"
        if path in self._being_written:
            return
        offsets = directory.offsets_for(name)
        if self._written.get(path) != offsets:
            self._being_written[path] = offsets
            self._disk_work.submit(
                directory,
                partial(write_file, directory.fs, path + _NEXT, build_offsets(offsets)),
                partial(self._name, directory, name, path),
            )

    def _name(self, directory: DataDirectory, name: str, path: str) -> None:
        """The content is durable: let it be found, unless a truncation has forbidden it."""
        if path in self._overtaken:
            self._done(directory, name, path)
            return
        try:
            directory.fs.rename(path + _NEXT, path)
        except OSError as error:
            directory.fail(error)
            return
        self._disk_work.submit(
            directory,
            partial(sync_directory, directory.fs, directory.path),
            partial(self._done, directory, name, path),
        )

    def _done(self, directory: DataDirectory, name: str, path: str) -> None:
        offsets = self._being_written.pop(path)
        if path in self._overtaken:
            self._overtaken.discard(path)
            self._asked_again.add(path)
        else:
            self._written[path] = offsets
        if path in self._asked_again:
            self._asked_again.discard(path)
            self.write(directory, name)

    # --- truncation --------------------------------------------------------------------

    def lower(self, directory: DataDirectory, most: Offsets) -> None:
        """Let no checkpoint name an offset above these, before anything above is cut.

        Waits for the disk, unless no file can hold more. Raises OSError.
        """
        for name in ALL:
            path = f"{directory.path}/{name}"
            if self._may_exceed(path, most):
                self._lower(directory, name, path, most)

    def _lower(self, directory: DataDirectory, name: str, path: str, most: Offsets) -> None:
        offsets = directory.offsets_for(name)
        for partition, offset in most.items():
            if partition in offsets:
                offsets[partition] = min(offsets[partition], offset)
        replace_file(directory.fs, path, build_offsets(offsets), path + _LOWERED)
        self._written[path] = offsets
        if path in self._being_written:
            self._overtaken.add(path)

    def forget(self, directory: DataDirectory, partition: TopicPartition) -> None:
        """Let no checkpoint name a partition that is about to be made.

        One of its name may have been deleted: what was noted of that would be taken for its own
        after a crash, and records below the old log start for deleted. Raises OSError.
        """
        for name in ALL:
            path = f"{directory.path}/{name}"
            written = self._written.get(path, directory.checkpoints_read.get(name))
            if (
                written is None
                or partition in written
                or partition in self._being_written.get(path, ())
            ):
                self._lower(directory, name, path, {partition: 0})

    def _may_exceed(self, path: str, most: Offsets) -> bool:
        """Whether a file, or what is on its way into it, may name an offset above these."""
        written = self._written.get(path)
        contents = [written, self._being_written.get(path, {})]
        return written is None or any(
            content.get(partition, 0) > offset
            for content in contents
            if content is not None
            for partition, offset in most.items()
        )
