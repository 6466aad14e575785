"""A new journal file in the making, while the old one goes on.

    begun     the snapshot is what the tree was; what is appended from now on is kept
    written   the snapshot is on the disk, in a file of another name (in a worker)
    joined    what was kept is in the file, and what is appended goes to both
    synced    so is all of that on the disk (in a worker)

After that the new file takes the old one's name: at that moment nobody has been told of anything
that is not in both files and forced to disk in both.
"""

import contextlib
import os
from pathlib import Path

from barnabas.server.registry.znodes import records
from barnabas.server.registry.znodes.tree import Tree


class JournalRewrite:
    """One rewrite of a journal; ends with `fd` handed over, or with `abandon`."""

    def __init__(self, path: Path, tree: Tree) -> None:
        self.path = path.with_name(path.name + ".tmp")
        self._snapshot = b"".join((records.FILE_MAGIC, *records.encode_snapshot(tree)))
        self._tail: list[bytes] = []
        self.fd = -1
        self.snapshot_bytes = len(self._snapshot)
        self.length_bytes = 0
        self.is_joined = False
        self.failure: OSError | None = None
        """Why the file cannot be used, though the journal goes on."""

    def write(self) -> None:
        """Put the snapshot on the disk; in any thread. Raises OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self.fd = os.open(self.path, flags, 0o644)
        write_all(self.fd, self._snapshot, 0)
        os.fsync(self.fd)
        self.length_bytes = len(self._snapshot)
        self._snapshot = b""

    def add(self, framed: bytes) -> None:
        """Take note of what has been appended to the journal."""
        if not self.is_joined:
            self._tail.append(framed)
        elif self.failure is None:
            self._append(framed)

    def join(self) -> None:
        """Catch up with the journal."""
        self._append(b"".join(self._tail))
        self._tail.clear()
        self.is_joined = True

    def sync(self) -> None:
        """Force what has been appended so far to disk; in any thread."""
        try:
            os.fdatasync(self.fd)
        except OSError as error:
            self.failure = error

    def check(self) -> None:
        """Raises the OSError for which the file cannot be used."""
        if self.failure is not None:
            raise self.failure

    def abandon(self) -> None:
        """Leave nothing behind: what was written of it would only keep a full disk full."""
        if self.fd >= 0:
            os.close(self.fd)
            with contextlib.suppress(OSError):
                self.path.unlink()

    def _append(self, framed: bytes) -> None:
        try:
            write_all(self.fd, framed, self.length_bytes)
            self.length_bytes += len(framed)
        except OSError as error:
            self.failure = error


def write_all(fd: int, content: bytes, offset: int) -> None:
    """Write every byte, whatever each call accepts."""
    view = memoryview(content)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written
