"""What a crash leaves half done in a partition's directory, done or undone.

`.deleted` files are of no use any more. `.cleaned` files are an unfinished compaction; a
`.swap` file at or above the lowest of them belongs to the same one, which had not yet renamed
all its output. Other `.swap` files are a finished compaction: the segments they replace go,
and they take their names.
"""

from collections.abc import Callable
from typing import Final

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.fs import READ, FileSystem, remove_path
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.file_names import CLEANED, DELETED, LOG, SWAP

_RAFT_SNAPSHOT: Final = ".checkpoint.deleted"
_DIGITS: Final = 20


def clean_up(
    fs: FileSystem, directory: str, names: set[str], say: Callable[[str], None]
) -> set[str]:
    """Finish or undo what the names show; the names that are left."""
    doomed = {
        name for name in names if name.endswith(DELETED) and not name.endswith(_RAFT_SNAPSHOT)
    }
    cleaned = {name for name in names if name.endswith(CLEANED)}
    swaps = {name for name in names if name.endswith(SWAP)}
    if cleaned:
        lowest = min(_offset(name) for name in cleaned)
        unfinished = {name for name in swaps if _offset(name) >= lowest}
        say("an unfinished compaction is undone")
        doomed |= cleaned | unfinished
        swaps -= unfinished
    if swaps:
        say("a finished compaction is carried through")
        doomed |= _replaced(fs, directory, names - doomed, swaps)
    for name in sorted(doomed):
        remove_path(fs, f"{directory}/{name}")
    # From the lowest on, the .log first: what has its name already then never lies between those
    # that have not, and is not taken for a replaced segment if this is broken off.
    for name in sorted(swaps, key=lambda name: (_offset(name), not name.endswith(LOG + SWAP))):
        fs.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")
    return (names - doomed - swaps) | {name.removesuffix(SWAP) for name in swaps}


def _offset(name: str) -> int:
    return int(name[:_DIGITS])


def _replaced(fs: FileSystem, directory: str, names: set[str], swaps: set[str]) -> set[str]:
    """The files of the segments whose offsets the `.swap` segments cover, snapshots too."""
    logs = [name for name in swaps if name.endswith(LOG + SWAP)]
    if not logs:
        return set()
    low = min(_offset(name) for name in logs)
    high = max(_next_offset(fs, f"{directory}/{name}", _offset(name)) for name in logs)
    return {
        name
        for name in names - swaps
        if name[:_DIGITS].isdigit()
        and name[_DIGITS : _DIGITS + 1] == "."
        and low <= _offset(name) < high
    }


def _next_offset(fs: FileSystem, path: str, base_offset: int) -> int:
    fd = fs.open(path, READ, 0)
    next_offset = base_offset
    try:
        for _, header, _ in read_batches(fs.pread, fd, 0, fs.fstat(fd).st_size):
            next_offset = header.next_offset
    except CorruptBatch:
        pass  # as far as it goes; recovery cuts the rest
    finally:
        fs.close(fd)
    return next_offset
