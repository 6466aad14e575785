"""The journal file of the embedded store: open, append, rewrite.

One file (format in records.py) holds a snapshot and the transactions since. It is only ever
replaced as a whole: a rewrite goes to a second file (journal_rewrite.py), is forced to disk and
renamed over the first, so a crash at any moment leaves the old file or the new one, both complete.

Durability. A transaction is written, in one write, before its caller hears of it: it survives
the death of the process. `sync` forces it to disk, from a worker thread; closing forces, too.
After a failure to force, the system may have dropped what it could not write and say nothing the
next time: only a whole new file, from a rewrite, is to be believed then.

Damage. A broken record with nothing intact behind it is the torn end of the last write, which
nobody was told had succeeded: it is cut off. A broken record with an intact one behind it means
that acknowledged changes are damaged, and a broken snapshot the same; then opening fails and
names the file and the position, since going on would lose topics without a word.

The data directory's lock keeps a second process away from the file.
"""

import contextlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

from barnabas.server.registry.znodes import records
from barnabas.server.registry.znodes.journal_rewrite import JournalRewrite, write_all
from barnabas.server.registry.znodes.records import HEADER_BYTES
from barnabas.server.registry.znodes.tree import Tree

REWRITE_BYTES = 4 * 1024 * 1024
REWRITE_RATIO = 2


class JournalCorrupt(Exception):
    """The journal is damaged in a part that was once complete."""

    def __init__(self, path: Path, position: int, why: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {why}")
        self.position = position


class Loaded(NamedTuple):
    """What a journal held: the tree, and how the file divides."""

    tree: Tree
    snapshot_bytes: int
    intact_bytes: int
    cut_bytes: int


class _Files(NamedTuple):
    """What there is to be forced to disk. A worker reads it at once: the loop may exchange it."""

    fd: int
    rewrite: JournalRewrite | None = None
    renames: int = 0


def load(path: Path, buffer: bytes) -> Loaded:
    """Rebuild the tree from a journal's bytes; raises JournalCorrupt."""
    if not buffer.startswith(records.FILE_MAGIC):
        raise JournalCorrupt(path, 0, "it does not begin like a registry journal")
    tree = Tree()
    snapshot_bytes = 0
    position = len(records.FILE_MAGIC)
    while position < len(buffer):
        end = records.payload_end(buffer, position)
        if end < 0:
            break
        try:
            kind = _restore(tree, buffer, position + HEADER_BYTES, end, bool(snapshot_bytes))
        except (records.Malformed, KeyError, struct.error, UnicodeDecodeError) as error:
            raise JournalCorrupt(path, position, str(error)) from error
        position = end
        if kind == records.END:
            snapshot_bytes = end
    _require_torn(path, buffer, position, snapshot_bytes)
    return Loaded(tree, snapshot_bytes, position, len(buffer) - position)


def _restore(tree: Tree, buffer: bytes, position: int, end: int, complete: bool) -> int:
    kind = buffer[position]
    if kind == records.CHANGES and complete:
        records.replay_changes(tree, buffer, position, end)
    elif kind == records.NODES and not complete:
        records.restore_nodes(tree, buffer, position, end)
    elif kind == records.END and not complete:
        records.finish_snapshot(tree, buffer, position)
    else:
        raise records.Malformed(f"a record of type {kind} cannot stand here")
    return kind


def _require_torn(path: Path, buffer: bytes, position: int, snapshot_bytes: int) -> None:
    """Refuse a journal whose unreadable part cannot be the torn end of the last write."""
    if not snapshot_bytes:
        raise JournalCorrupt(path, position, "the snapshot is not complete")
    candidate = buffer.find(records.RECORD_MAGIC, position + 1)
    while candidate >= 0:
        if records.payload_end(buffer, candidate) >= 0:
            raise JournalCorrupt(path, position, "the records behind it are intact")
        candidate = buffer.find(records.RECORD_MAGIC, candidate + 1)


class Journal:
    """An open journal file."""

    def __init__(self, path: Path, loaded: Loaded | None) -> None:
        """Go on after what `load` found at `path`; None starts an empty file there."""
        self.path = path
        self._broken = False
        self._replaced_fd = -1  # a worker may be in `sync` with it
        self._synced_renames = 0
        if loaded is None:
            fd, self._length_bytes = _write_whole(path, Tree())
            self._files, self._snapshot_bytes = _Files(fd), self._length_bytes
            _sync_directory(path.parent)
            return
        self._files = _Files(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        self._length_bytes, self._snapshot_bytes = loaded.intact_bytes, loaded.snapshot_bytes
        if loaded.cut_bytes:
            os.ftruncate(self._files.fd, self._length_bytes)

    @property
    def wants_rewrite(self) -> bool:
        """Whether so much was appended that a new snapshot pays, or nothing else helps."""
        if self._files.rewrite is not None:
            return False
        if self._broken:
            return True
        tail_bytes = self._length_bytes - self._snapshot_bytes
        return tail_bytes > max(REWRITE_BYTES, REWRITE_RATIO * self._snapshot_bytes)

    def append(self, framed: bytes) -> None:
        """Write records in one go; after an OSError none of them is in the file."""
        if self._broken:
            raise OSError(f"{self.path} could not be made whole after a failed write")
        try:
            write_all(self._files.fd, framed, self._length_bytes)
        except OSError:
            self._cut_back()
            raise
        self._length_bytes += len(framed)
        if self._files.rewrite is not None:
            self._files.rewrite.add(framed)

    def begin_rewrite(self, tree: Tree) -> JournalRewrite:
        """Begin a file with a snapshot of `tree`; `replace` or `drop` has to follow."""
        if self._replaced_fd >= 0:
            os.close(self._replaced_fd)
            self._replaced_fd = -1
        rewrite = JournalRewrite(self.path, tree)
        self._files = self._files._replace(rewrite=rewrite)
        return rewrite

    def replace(self, rewrite: JournalRewrite) -> None:
        """Go on in the new file, which has been synced. Raises OSError."""
        rewrite.check()
        rewrite.path.replace(self.path)
        self._broken = False
        self._replaced_fd = self._files.fd
        self._files = _Files(rewrite.fd, renames=self._files.renames + 1)
        self._length_bytes, self._snapshot_bytes = rewrite.length_bytes, rewrite.snapshot_bytes
        if rewrite.failure is not None:  # a worker has found out just now
            self._broken = True

    def drop(self, rewrite: JournalRewrite) -> None:
        """Go on in the old file."""
        self._files = self._files._replace(rewrite=None)
        rewrite.abandon()
        # Not worth another try before the file has grown as if this were its snapshot.
        self._snapshot_bytes = self._length_bytes

    def sync(self) -> None:
        """Force everything appended so far to disk, or append nothing more; in any thread."""
        files = self._files
        try:
            os.fdatasync(files.fd)
            if files.rewrite is not None and files.rewrite.is_joined:
                self._sync_rewrite(files.rewrite)
            if self._synced_renames < files.renames:
                _sync_directory(self.path.parent)
                self._synced_renames = files.renames
        except BaseException:
            self._broken = True
            raise

    def _sync_rewrite(self, rewrite: JournalRewrite) -> None:
        """A failure is that of the rewrite alone, unless it is the journal by now."""
        rewrite.sync()
        if self._files.fd == rewrite.fd:
            rewrite.check()

    def close(self) -> None:
        """Force everything to disk and close the file."""
        try:
            if self._files.rewrite is not None:
                self.drop(self._files.rewrite)
            self.sync()
        finally:
            os.close(self._files.fd)
            if self._replaced_fd >= 0:
                os.close(self._replaced_fd)

    def _cut_back(self) -> None:
        """Take a half-written append off again, or else write nothing behind it ever."""
        try:
            os.ftruncate(self._files.fd, self._length_bytes)
        except OSError:
            self._broken = True


def open_journal(path: Path) -> tuple[Journal, Loaded]:
    """Open or create the journal at `path`; raises JournalCorrupt, OSError."""
    with contextlib.suppress(FileNotFoundError):
        JournalRewrite(path, Tree()).path.unlink()
    try:
        buffer = path.read_bytes()
    except FileNotFoundError:
        journal = Journal(path, None)
        return journal, Loaded(Tree(), 0, 0, 0)
    loaded = load(path, buffer)
    return Journal(path, loaded), loaded


def _write_whole(path: Path, tree: Tree) -> tuple[int, int]:
    """Put a fresh journal of `tree` at `path`, all or nothing; return descriptor and length."""
    rewrite = JournalRewrite(path, tree)
    try:
        rewrite.write()
        rewrite.path.replace(path)
    except OSError:
        rewrite.abandon()
        raise
    return rewrite.fd, rewrite.length_bytes


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
