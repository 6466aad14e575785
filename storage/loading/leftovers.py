"""What a crash leaves half done in a partition's directory, done or undone.

New segments come about in this order, by a compaction (one at a time) or by splitting one that
overflows (several): their files are written as `.cleaned`; those are renamed to `.swap`, the
highest segment first and of each the `.log` first; the segments they replace go, the lowest and
its `.log` first; the `.swap` files take their names, the lowest and its `.log` first. Hence:

    left over                                    means
    `.deleted`                                   no part of the log any more: removed
    `.cleaned`                                   not finished: removed
    `.log.swap`, and no `.cleaned`               finished: what it covers goes, it takes its name
    `.log.swap` beside a `.cleaned`, and a live  not all were `.swap` yet: undone, the live
      segment that reaches to its offsets        segment is the old one
    the same, and nothing live there             the old ones have gone, the `.cleaned` is of
                                                 another job: finished
    other `.swap` files, without their           the `.log` has its name: they take theirs
      `.log.swap`

Apache Kafka undoes every `.swap` at or above the lowest `.cleaned`, also where the old segments
have gone; otherwise this is its LogLoader's table. Each step here may be broken off as well, and
leaves something that the table sees in the same way.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.fs import READ, FileSystem, remove_path
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.file_names import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_EXTENSIONS,
    SWAP,
    UNFINISHED,
    base_offset_of,
    segment_path,
)

SNAPSHOT: Final = ".snapshot"
_OF_A_LOG: Final = (*SEGMENT_EXTENSIONS, SNAPSHOT, *UNFINISHED)
_RAFT_SNAPSHOT: Final = ".checkpoint.deleted"


def foreign_names(names: Iterable[str]) -> list[str]:
    """Names that end as those of a log's files do, but are of no offset: somebody else's files."""
    return sorted(
        name
        for name in names
        if name.endswith(_OF_A_LOG)
        and base_offset_of(name) is None
        and not name.endswith(_RAFT_SNAPSHOT)
    )


def clean_up(
    fs: FileSystem, directory: str, names: set[str], say: Callable[[str], None]
) -> set[str]:
    """Finish or undo what the names show, none of them foreign; the names that are left."""
    return _CleanUp(fs, directory, names, say).run()


class _CleanUp:
    def __init__(
        self, fs: FileSystem, directory: str, names: set[str], say: Callable[[str], None]
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._names = names
        self._say = say
        ours = {name for name in names if base_offset_of(name) is not None}
        self._deleted = {name for name in ours if name.endswith(DELETED)}
        self._cleaned = {name for name in ours if name.endswith(CLEANED)}
        self._swaps = {name for name in ours if name.endswith(SWAP)}
        self._live = ours - self._deleted - self._cleaned - self._swaps

    def run(self) -> set[str]:
        undone = self._undone() if self._cleaned else set()
        if self._cleaned:
            self._say("an unfinished compaction is undone")
        finished = self._swaps - undone
        replaced = self._replaced(finished)
        if finished:
            self._say("a finished compaction is carried through")
        # A `.cleaned` goes last: as long as one is there, what was undone is undone again.
        doomed = [
            *sorted(self._deleted),
            *sorted(undone, key=lambda name: (name.endswith(LOG + SWAP), name)),
            *sorted(self._cleaned),
            *sorted(replaced, key=_lowest_log_first),
        ]
        for name in doomed:
            remove_path(self._fs, f"{self._directory}/{name}")
        for name in sorted(finished, key=_lowest_log_first):
            path = f"{self._directory}/{name}"
            self._fs.rename(path, path.removesuffix(SWAP))
        renamed = {name.removesuffix(SWAP) for name in finished}
        return (self._names - set(doomed) - finished) | renamed

    def _undone(self) -> set[str]:
        """The files of the `.swap` segments whose offsets a live segment still has."""
        bases = {base for base in _logs(self._swaps, LOG + SWAP) if self._is_covered(base)}
        return {name for name in self._swaps if base_offset_of(name) in bases}

    def _is_covered(self, base_offset: int) -> bool:
        floor = max((base for base in _logs(self._live, LOG) if base <= base_offset), default=None)
        if floor is None:
            return False
        return floor == base_offset or self._next_offset(floor, "") > base_offset

    def _replaced(self, finished: set[str]) -> set[str]:
        """The live files of the segments whose offsets `.swap` segments cover, snapshots too."""
        bases = _logs(finished, LOG + SWAP)
        if not bases:
            return set()
        low = min(bases)
        high = max(max(self._next_offset(base, SWAP), base + 1) for base in bases)
        return {name for name in self._live if low <= _base(name) < high}

    def _next_offset(self, base_offset: int, suffix: str) -> int:
        """Where a segment ends, as far as its batches are sound: recovery cuts the rest."""
        fs, next_offset = self._fs, base_offset
        path = segment_path(self._directory, base_offset, LOG, suffix)
        file = OpenFile(fs, fs.open(path, READ, 0))
        with suppress(CorruptBatch):
            for _, header, _ in read_batches(file, 0, file.size_bytes()):
                next_offset = header.next_offset
        return next_offset


def _base(name: str) -> int:
    base_offset = base_offset_of(name)
    return -1 if base_offset is None else base_offset


def _logs(names: set[str], extension: str) -> set[int]:
    """The base offsets of the files with an extension, and the suffix in it, if any."""
    return {base for name in names if (base := _base(name)) >= 0 and name.endswith(extension)}


def _lowest_log_first(name: str) -> tuple[int, bool]:
    return _base(name), not name.removesuffix(SWAP).endswith(LOG)
