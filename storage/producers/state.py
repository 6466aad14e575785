"""The producers of one partition: who may write next, what is open, what is stable.

Kept in memory, saved as a snapshot file whenever a segment is rolled and when the log is
closed, and made anew from the newest usable snapshot and the batches behind it. The snapshots
at the base offsets of segments and the newest one are kept (Kafka's ProducerStateManager).

A transaction is *ongoing* up to its marker and *unreplicated* until the marker lies below the
high watermark; the first offset of the earliest of either bounds the last stable offset.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from barnabas.storage.disk.fs import FileSystem, read_file, write_file
from barnabas.storage.errors import CorruptSnapshot
from barnabas.storage.file_names import DELETED
from barnabas.storage.producers.entry import (
    UNKNOWN_MS,
    CompletedTransaction,
    ProducerEntry,
    SentBatch,
)
from barnabas.storage.producers.snapshot import (
    FIRST_TABLE_SIZE,
    build_snapshot,
    parse_snapshot,
    table_size,
)
from barnabas.storage.producers.unsure_ends import UnsureEnds

NO_OFFSET: Final = -1
SOON_REPLAYED_BYTES: Final = 1 << 20
Windows = dict[int, tuple[int, list[SentBatch]]]
"""(epoch, its last batches) by producer id."""


class ProducerState:
    """All producer ids one partition knows."""

    __slots__ = (
        "_buckets",
        "_directory",
        "_fs",
        "_snapshot_offset",
        "_unreplicated",
        "damages",
        "map_end_offset",
        "ongoing",
        "producers",
        "snapshots",
        "unsure_ends",
    )

    def __init__(self, fs: FileSystem, directory: str, snapshots: Iterable[int] = ()) -> None:
        self._fs = fs
        self._directory = directory
        self.producers: dict[int, ProducerEntry] = {}
        self.ongoing: dict[int, int] = {}
        """First offset of every open transaction, rising → its producer id."""
        self._unreplicated: dict[int, int] = {}  # first offset → offset of the marker
        self.snapshots = sorted(snapshots)
        """Offsets of the snapshot files, rising."""
        self.damages: list[str] = []
        """Snapshot files that could not be read, each in a sentence."""
        self.unsure_ends = UnsureEnds()
        self.map_end_offset = 0
        """Everything below this offset has been taken in."""
        self._snapshot_offset = 0
        self._buckets = FIRST_TABLE_SIZE

    @property
    def is_empty(self) -> bool:
        return not self.producers and not self._unreplicated

    # --- appends -----------------------------------------------------------------------

    def replace(self, entry: ProducerEntry) -> None:
        """Put a changed copy of an entry, or a new one, in its place."""
        self.producers[entry.producer_id] = entry
        self._buckets = table_size(len(self.producers), self._buckets)

    def take_over(self, other: "ProducerState") -> None:
        """Know the producers, too, that another log of the partition knows without a record."""
        for producer_id, entry in other.producers.items():
            if producer_id not in self.producers and entry.current_transaction_first_offset < 0:
                self.replace(entry)

    def complete(self, completed: CompletedTransaction) -> int:
        """Note that a transaction has ended; the last stable offset right after it.

        That is where the earliest transaction still open begins, of another producer at that.
        """
        self.ongoing.pop(completed.first_offset, None)
        self._unreplicated[completed.first_offset] = completed.last_offset
        self.unsure_ends.ended(completed)
        return next(iter(self.ongoing), completed.last_offset + 1)

    def first_unstable_offset(self) -> int | None:
        """The first offset of the earliest transaction that is not settled."""
        first = next(iter(self.ongoing), None)
        if not self._unreplicated:
            return first
        earliest = min(self._unreplicated)
        return earliest if first is None or earliest < first else first

    def settle_below(self, high_watermark: int) -> bool:
        """Forget the ended transactions whose marker is replicated; True if any was."""
        if not self._unreplicated:
            return False
        settled = [first for first, marker in self._unreplicated.items() if marker < high_watermark]
        for first in settled:
            del self._unreplicated[first]
        return bool(settled)

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a batch of that epoch goes on with a transaction that is open here.

        One of another epoch does not: with transactions version 2 it belongs to the next, and
        has come before the marker of this one (KIP-890).
        """
        entry = self.producers.get(producer_id)
        return (
            entry is not None
            and entry.current_transaction_first_offset >= 0
            and entry.epoch == epoch
        )

    def oldest_transaction_timestamp(self) -> int:
        """When the producer of the oldest open transaction last wrote; -1 if none is open."""
        producer_id = next(iter(self.ongoing.values()), None)
        if producer_id is None or producer_id not in self.producers:
            return -1
        return self.producers[producer_id].last_timestamp

    def remove_expired(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Forget the producers idle for `producer.id.expiration.ms` outside a transaction."""
        expired = [
            producer_id
            for producer_id, entry in self.producers.items()
            if _is_expired(entry, now_ms, expiration_ms)
        ]
        for producer_id in expired:
            del self.producers[producer_id]
        return expired

    # --- snapshots ---------------------------------------------------------------------

    def relocate(self, directory: str) -> None:
        """The directory of the snapshots has another name now."""
        self._directory = directory

    def snapshot_path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}.snapshot"

    def take_snapshot(self, *, sync: bool = True) -> str | None:
        """Write the state as of `map_end_offset`; the file's path, or None if there is one."""
        offset = self.map_end_offset
        if offset <= self._snapshot_offset:
            return None
        path = self.snapshot_path(offset)
        write_file(
            self._fs, path, build_snapshot(self.producers.values(), self._buckets), sync=sync
        )
        if offset not in self.snapshots:
            self.snapshots.append(offset)
            self.snapshots.sort()
        self._snapshot_offset = offset
        return path

    def leaves_snapshot(self, log_bytes: int) -> bool:
        """Whether a clean stop has to leave one, for a log of that size.

        Where no producer is known and there is no snapshot, none says the same after it, and
        after a crash a log so short is soon replayed. A file for each of thousands of
        partitions would take a second to make.
        """
        return bool(self.producers or self.snapshots) or log_bytes > SOON_REPLAYED_BYTES

    def open_at(self, offset: int) -> dict[int, int] | None:
        """First offsets of the transactions that the snapshot at an offset says were open.

        By producer id; None without a sound snapshot.
        """
        if offset not in self.snapshots:
            return None
        try:
            entries = parse_snapshot(read_file(self._fs, self.snapshot_path(offset)))
        except (CorruptSnapshot, FileNotFoundError):
            return None
        return {
            entry.producer_id: entry.current_transaction_first_offset
            for entry in entries
            if entry.current_transaction_first_offset >= 0
        }

    def remove_snapshot(self, offset: int) -> None:
        """Unlink the snapshot at an offset, if there is one."""
        if offset in self.snapshots:
            self.snapshots.remove(offset)
            with suppress(FileNotFoundError):
                self._fs.unlink(self.snapshot_path(offset))

    def set_aside_snapshot(self, offset: int) -> str | None:
        """Rename the snapshot at an offset to `.deleted`; the new path, or None without one."""
        if offset not in self.snapshots:
            return None
        self.snapshots.remove(offset)
        path = self.snapshot_path(offset)
        try:
            self._fs.rename(path, path + DELETED)
        except FileNotFoundError:
            return None
        return path + DELETED

    def remove_stray_snapshots(self, base_offsets: Iterable[int]) -> None:
        """Keep the snapshots at segment bases, and the newest if it lies above them all."""
        bases = set(base_offsets)
        newest = max((offset for offset in self.snapshots if offset not in bases), default=-1)
        for offset in list(self.snapshots):
            is_tip = offset == newest and offset > max(bases, default=NO_OFFSET)
            if offset not in bases and not is_tip:
                self.remove_snapshot(offset)

    def windows(self) -> Windows:
        """The batches known of producers of which more than the last is: a snapshot holds that."""
        return {
            producer_id: (entry.epoch, entry.batches.copy())
            for producer_id, entry in self.producers.items()
            if len(entry.batches) > 1
        }

    def widen(self, windows: Windows) -> None:
        """Know more than the last batch again, of producers that have written nothing since."""
        for producer_id, (epoch, batches) in windows.items():
            entry = self.producers.get(producer_id)
            if entry is not None and entry.epoch == epoch and entry.batches:
                if entry.batches[-1][:3] == batches[-1][:3]:
                    entry.batches = batches.copy()

    # --- loading and truncation --------------------------------------------------------

    def truncate_and_reload(
        self,
        log_start_offset: int,
        log_end_offset: int,
        now_ms: int,
        expiration_ms: int,
        written_by: Callable[[int], int],
    ) -> None:
        """Go back to the newest snapshot in (start, end]; the caller replays from there.

        Of a producer that seems to be idle `written_by` says when the record at an offset had
        been written at the latest.
        """
        for offset in list(self.snapshots):
            if offset > log_end_offset or offset <= log_start_offset:
                self.remove_snapshot(offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset(log_start_offset)
            return
        self._clear()
        self._load(log_start_offset, now_ms, expiration_ms, written_by)

    def _load(
        self,
        log_start_offset: int,
        now_ms: int,
        expiration_ms: int,
        written_by: Callable[[int], int],
    ) -> None:
        while self.snapshots:
            offset = self.snapshots[-1]
            try:
                entries = parse_snapshot(read_file(self._fs, self.snapshot_path(offset)))
            except (CorruptSnapshot, FileNotFoundError) as error:
                self.damages.append(f"{offset:020d}.snapshot: {error}; it is not used")
                self.remove_snapshot(offset)
                continue
            _date(entries, now_ms, expiration_ms, written_by)
            for entry in entries:
                if not _is_expired(entry, now_ms, expiration_ms):
                    self._adopt(entry)
            self.ongoing = dict(sorted(self.ongoing.items()))
            self._snapshot_offset = self.map_end_offset = offset
            return
        self._snapshot_offset = self.map_end_offset = log_start_offset

    def date(self, now_ms: int, expiration_ms: int, written_by: Callable[[int], int]) -> None:
        """Find out of the producers that seem to be idle when they have written at the latest."""
        _date(self.producers.values(), now_ms, expiration_ms, written_by)

    def _adopt(self, entry: ProducerEntry) -> None:
        self.producers[entry.producer_id] = entry
        self._buckets = table_size(len(self.producers), self._buckets)
        if entry.current_transaction_first_offset >= 0:
            self.ongoing[entry.current_transaction_first_offset] = entry.producer_id

    def _clear(self) -> None:
        self.producers.clear()
        self.ongoing.clear()
        self._unreplicated.clear()
        self.unsure_ends.forget()

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """The log now begins at a later offset."""
        self.settle_below(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self._snapshot_offset = self.snapshots[-1] if self.snapshots else log_start_offset

    def start_at(self, offset: int) -> None:
        """Forget everything, snapshots too; the next record will be at `offset`."""
        self._clear()
        for snapshot in list(self.snapshots):
            self.remove_snapshot(snapshot)
        self._snapshot_offset = 0
        self.map_end_offset = offset


def _is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    return entry.current_transaction_first_offset < 0 and entry.is_idle(now_ms, expiration_ms)


def _date(
    entries: Iterable[ProducerEntry],
    now_ms: int,
    expiration_ms: int,
    written_by: Callable[[int], int],
) -> None:
    for entry in entries:
        if entry.written_ms == UNKNOWN_MS and entry.is_idle(now_ms, expiration_ms):
            entry.written_ms = written_by(entry.last_data_offset)
