"""Which leader epoch began at which offset: `leader-epoch-checkpoint`.

The file is text: a version line `0`, the number of entries, then one `epoch start-offset`
line each, both rising. A follower that changes leader, or a consumer that may have read what
was lost, asks where an epoch ended: at the start of the next larger one (KIP-101, KIP-279).

Each batch carries its epoch, so what the file lacks above the recovery point is found again
when the log is recovered. That is why a change may wait for the next flush, which syncs the file;
one that a batch brings along is written before that batch.
"""

import errno
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import Final

from barnabas.storage.batch.header import MAX_OFFSET
from barnabas.storage.disk.fs import FileSystem, read_file, write_file
from barnabas.storage.errors import CorruptCheckpoint

UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1
FILE_NAME: Final = "leader-epoch-checkpoint"
_MAX_EPOCH: Final = (1 << 31) - 1


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    """The (epoch, start offset) entries of a checkpoint file; CorruptCheckpoint if it is none.

    Apache Kafka makes the file empty with the log, and it stays so until the log has records.
    """
    if not data:
        return []
    try:
        version, count, *lines = data.decode("ascii").split("\n")
        entries = [(int(epoch), int(start)) for epoch, start in map(str.split, filter(None, lines))]
        whole = int(version) == 0 and int(count) == len(entries)
    except ValueError as error:
        raise CorruptCheckpoint(f"malformed {FILE_NAME}: {error}") from error
    if not whole:
        raise CorruptCheckpoint(f"{FILE_NAME} of version {version} with {count} entries")
    if any(epoch > _MAX_EPOCH or start > MAX_OFFSET + 1 for epoch, start in entries):
        raise CorruptCheckpoint(f"malformed {FILE_NAME}: a number is too large")
    return entries


@lru_cache(256)  # thousands of partitions have the same few epochs
def _parsed(data: bytes) -> tuple[list[int], list[int]]:
    """Epochs and start offsets of a checkpoint file, both rising; not to be changed."""
    epochs: list[int] = []
    starts: list[int] = []
    for epoch, start in parse_epochs(data):
        _assign(epochs, starts, epoch, start)
    return epochs, starts


def _assign(epochs: list[int], starts: list[int], epoch: int, start_offset: int) -> bool:
    if epochs and epoch == epochs[-1] and start_offset >= starts[-1]:
        return False
    while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):
        epochs.pop()
        starts.pop()
    epochs.append(epoch)
    starts.append(start_offset)
    return True


def build_epochs(entries: list[tuple[int, int]]) -> bytes:
    """The content of a checkpoint file."""
    lines = ["0", str(len(entries)), *(f"{epoch} {start}" for epoch, start in entries)]
    return ("\n".join(lines) + "\n").encode("ascii")


class LeaderEpochs:
    """The epochs of one partition, in memory and in its checkpoint file."""

    __slots__ = (
        "_epochs", "_fs", "_is_lost", "_starts", "_stored", "dirty", "latest_epoch", "path",
        "synced_writes", "writes",
    )  # fmt: skip

    def __init__(self, fs: FileSystem, directory: str) -> None:
        self._fs = fs
        self.path = f"{directory}/{FILE_NAME}"
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest_epoch = UNDEFINED_EPOCH
        self._stored: list[tuple[int, int]] = []
        """What the file says."""
        self._is_lost = False
        self.dirty = False
        self.writes = 0
        """How often the file was written."""
        self.synced_writes = 0
        """What `writes` was when a sync of the file that has ended was begun."""

    def relocate(self, directory: str) -> None:
        """The directory of the file has another name now."""
        self.path = f"{directory}/{FILE_NAME}"

    def load(self) -> None:
        """Read the file; CorruptCheckpoint if it makes no sense.

        So is an empty one, which a power cut may have left of one that was not.
        """
        data = read_file(self._fs, self.path)
        if not data:
            raise CorruptCheckpoint(f"{FILE_NAME} is empty")
        epochs, starts = _parsed(data)
        self._epochs, self._starts = epochs.copy(), starts.copy()
        self._changed()
        self._stored = self.entries()
        self.dirty = False

    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset) of every epoch, rising."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` began at `start_offset`; False if that changes nothing.

        Entries at or above either value are dropped first: what a new leader says wins.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"no leader epoch: {epoch} at {start_offset}")
        if not _assign(self._epochs, self._starts, epoch, start_offset):
            return False
        self._changed()
        return True

    def _changed(self) -> None:
        self.latest_epoch = self._epochs[-1] if self._epochs else UNDEFINED_EPOCH
        self.dirty = True

    def earliest_entry(self) -> tuple[int, int] | None:
        """(epoch, start offset) of the oldest epoch kept."""
        return (self._epochs[0], self._starts[0]) if self._epochs else None

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch in which a record at `offset` was written, if it is known."""
        slot = bisect_right(self._starts, offset)
        return self._epochs[slot - 1] if slot else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest known epoch ≤ `epoch`, where it ends), or (-1, -1) if nothing is known."""
        epochs = self._epochs
        if epoch == UNDEFINED_EPOCH or not epochs:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if epoch == epochs[-1]:
            return epoch, log_end_offset
        slot = bisect_right(epochs, epoch)
        if slot == len(epochs):
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        return (epochs[slot - 1] if slot else epoch), self._starts[slot]

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or after `end_offset`."""
        starts = self._starts
        if end_offset < 0 or not starts or starts[-1] < end_offset:
            return
        while starts and starts[-1] >= end_offset:
            starts.pop()
            self._epochs.pop()
        self._changed()

    def truncate_from_start(self, start_offset: int) -> None:
        """Let the epoch of `start_offset` begin there and forget those before it."""
        slot = bisect_right(self._starts, start_offset)
        if slot == 0 or (slot == 1 and self._starts[0] == start_offset):
            return
        del self._epochs[: slot - 1]
        del self._starts[: slot - 1]
        self._starts[0] = start_offset
        self._changed()

    def clear(self) -> None:
        """Forget everything."""
        if self._epochs:
            self._epochs.clear()
            self._starts.clear()
            self._changed()

    def lose(self) -> None:
        """Refuse to write the file again."""
        self._is_lost = True

    def write(self, end_offset: int | None = None) -> None:
        """Replace the file if it is out of date; a flush has to sync it, and its name.

        With the log's `end_offset`, only if it is so for offsets below. An epoch without a
        record is given to a log each time it is led again, and forgotten when it is opened:
        to replace thousands of files for it takes seconds, on a slow disk.
        """
        if self.dirty and (end_offset is None or self._differs_below(end_offset)):
            if self._is_lost:
                raise OSError(
                    errno.EIO, "not to be written after a failure or a deletion", self.path
                )
            temporary = self.path + ".tmp"
            write_file(self._fs, temporary, build_epochs(self.entries()), sync=False)
            self._fs.rename(temporary, self.path)
            self._stored = self.entries()
            self.dirty = False
            self.writes += 1

    def _differs_below(self, offset: int) -> bool:
        stored, count = self._stored, bisect_left(self._starts, offset)
        if len(stored) < count or (len(stored) > count and stored[count][1] < offset):
            return True
        return any(
            entry != (self._epochs[slot], self._starts[slot])
            for slot, entry in enumerate(stored[:count])
        )
