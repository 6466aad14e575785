"""Deleting a log's files in two steps.

They get the suffix `.deleted` at once, and are to be unlinked `file.delete.delay.ms` later:
`take_due` tells the log's owner which. Files that a crash leaves under that suffix are removed
when the log is opened.
"""

from collections import deque
from contextlib import suppress

from barnabas.storage.disk.fs import FileSystem
from barnabas.storage.file_names import DELETED, is_leaving
from barnabas.storage.log.listener import LogListener
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.segment import Segment


class PendingDeletions:
    """The files of one log that are set aside. Its methods raise OSError if the disk fails."""

    __slots__ = ("_deletions", "_directory", "_fs", "_listener", "_producers", "delay_ms")

    def __init__(
        self,
        fs: FileSystem,
        directory: str,
        producers: ProducerState,
        listener: LogListener,
        delay_ms: int,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._producers = producers
        self._listener = listener
        self.delay_ms = delay_ms
        self._deletions: deque[tuple[int, str]] = deque()

    def relocate(self, directory: str) -> None:
        """The directory of the files has another name now."""
        self._directory = directory
        moved = [(due, f"{directory}/{path.rpartition('/')[2]}") for due, path in self._deletions]
        self._deletions = deque(moved)

    def set_aside(self, segment: Segment, now_ms: int, *, keep_snapshot: bool = False) -> None:
        """Rename a segment's files, and the snapshot of the producers at its base offset."""
        self._listener.set_aside()
        due_ms = self._listener.deletion_clock_ms(now_ms) + self.delay_ms
        if segment.exists:
            segment.change_suffix("", DELETED)
            self._deletions.extend((due_ms, file.path) for file in segment.each_file())
        segment.close()
        if keep_snapshot:
            return
        if (snapshot := self._producers.set_aside_snapshot(segment.base_offset)) is not None:
            self._deletions.append((due_ms, snapshot))

    def set_aside_leavings(self) -> int:
        """Rename what a compaction that came to nothing has left: how many files.

        They are to be unlinked without delay. The log's own segments have their final names
        whenever somebody may call this.
        """
        fs, directory = self._fs, self._directory
        leavings = [name for name in fs.list_directory(directory) if is_leaving(name)]
        if leavings:
            self._listener.set_aside()
        for name in leavings:
            path = f"{directory}/{name}"
            with suppress(FileNotFoundError):
                fs.rename(path, path + DELETED)
            self._deletions.appendleft((0, path + DELETED))
        return len(leavings)

    def take_due(self, now_ms: int) -> tuple[list[str], int | None]:
        """Paths of the files whose delay is over, and when the next one is due."""
        deletions = self._deletions
        due = []
        while deletions and deletions[0][0] <= now_ms:
            due.append(deletions.popleft()[1])
        return due, deletions[0][0] if deletions else None
