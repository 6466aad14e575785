"""One replica that moves: copied until nothing is missing, made durable, put in its log's place.

The last bytes are copied, and the logs exchanged, in one step of the loop: nobody appends between
the two, and nobody waits for more than that step. The copy is as durable by then as the log in
use: what was acknowledged because it is on the disk (`flush.messages`) is on the other, too.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from barnabas.server.core.awaiting import pause
from barnabas.server.core.clock import Clock
from barnabas.server.core.turns import Pauses, Turns
from barnabas.server.replication.moving.copying import LogCopy
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.storage.disk.open_files import ColdRead, FileSlice
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

READ_BYTES: Final = 1 << 20
"""Read at a time, in a thread."""
LAST_BYTES: Final = 1 << 18
"""Copied at most in the step that exchanges the logs."""
MOST_TIMES_PREPARED: Final = 20
"""A log that is flushed after each append (`flush.messages`) may be ahead for ever; the last step
waits for the disk then, for what came while the copy was made durable for the last time."""
LAST_SYNCED_BYTES: Final = 1 << 20
"""For no more than that: else it is all tried again."""
THROTTLED_MS: Final = 100.0
SOON_MS: Final = 5.0
"""When to look again whether nobody is at work on the files."""


class Surroundings(NamedTuple):
    """What the moves of a broker share."""

    clock: Clock
    turns: Turns
    disks: LogManager
    quota: ReplicationQuota
    copied: Callable[[int], object]
    """Told of the bytes that were copied."""
    exchange: Callable[[Partition, ManagedLog], bool]
    """Lets a log be the partition's; False while that cannot be."""


class Move:
    """A partition whose log is copied."""

    def __init__(self, partition: Partition, future: ManagedLog, around: Surroundings) -> None:
        self._partition = partition
        self._copy = LogCopy(partition.log, future)
        self._around = around
        self._is_marked = False
        self._unsynced_bytes = 0

    async def run(self) -> None:
        """Return when the partition's log lies where it is wanted. Raises StorageError."""
        self._copy.align(self._around.clock.now_ms())
        while True:
            await self._get_ready()
            if self._finish():
                return
            await pause(self._around.clock, SOON_MS)

    async def _get_ready(self) -> None:
        """Miss nothing, for the moment, and let it be as durable as the log in use, if it can."""
        for _ in range(MOST_TIMES_PREPARED):
            await self._catch_up()
            if self._is_marked and self._is_as_durable:
                return
            await self._prepare()
        await self._catch_up()

    @property
    def _is_as_durable(self) -> bool:
        """Whether what the disk is known to hold of the log in use it holds of the copy, too."""
        return self._copy.future.recovery_point >= self._copy.source.recovery_point

    @property
    def _is_soon_durable(self) -> bool:
        return self._is_as_durable or self._unsynced_bytes <= LAST_SYNCED_BYTES

    async def _catch_up(self) -> None:
        """Copy until nothing is missing, for the moment."""
        pauses = self._around.turns.pauses()
        while (data := await self._read_next()) is not None:
            await self._take(data, pauses)

    async def _read_next(self) -> bytes | None:
        """What comes next of the source; None when there is nothing."""
        around, copy = self._around, self._copy
        while around.quota.is_on and around.quota.is_exceeded:
            await pause(around.clock, THROTTLED_MS)
        while True:
            if not copy.is_aligned:
                copy.align(around.clock.now_ms())
            try:
                with copy.source.files.warm_only():
                    stretch = copy.next(READ_BYTES)
            except ColdRead as cold:
                await self._read(cold.stretch)
                continue
            if stretch is None:
                return None
            data = await self._read(stretch)
            if copy.is_aligned:  # else it may not be there any more
                return data

    async def _read(self, stretch: FileSlice) -> bytes:
        """The bytes of a file, read in a thread."""
        read: list[bytes] = []
        await self._at_disk(
            self._copy.source.data_directory, lambda: read.append(stretch.read_waiting())
        )
        return read[-1]

    async def _take(self, data: bytes, pauses: Pauses) -> None:
        for piece in self._copy.pieces(data):
            self._take_piece(piece)
            await pauses.pause()
            if not self._copy.is_aligned:
                return

    def _take_piece(self, piece: memoryview) -> None:
        around = self._around
        self._copy.take(piece, around.clock.now_ms())
        self._unsynced_bytes += len(piece)
        around.copied(len(piece))
        around.quota.record(len(piece))

    async def _prepare(self) -> None:
        """Make durable what has been copied so far, and that it is to replace the other log."""
        self._unsynced_bytes = 0
        await self._done(partial(self._around.disks.futures.prepare, self._copy.future))
        self._is_marked = True

    def _finish(self) -> bool:
        """Copy what is missing still, if that is little, and exchange the logs; else False."""
        copy = self._copy
        if not copy.is_aligned or not self._around.disks.futures.can_replace(copy.future):
            return False
        try:
            with copy.source.files.warm_only():
                stretch = copy.next(LAST_BYTES)
            data = b"" if stretch is None else stretch.read_warm()
        except ColdRead:
            return False
        for piece in copy.pieces(data):
            self._take_piece(piece)
        if not copy.is_level or not self._is_soon_durable:
            return False
        copy.future.flusher.flush(copy.source.recovery_point)
        return self._around.exchange(self._partition, copy.future)

    async def _at_disk(self, directory: DataDirectory, work: Callable[[], None]) -> None:
        """Wait for work in a thread. If it fails the directory does, which ends the move."""
        await self._done(partial(self._around.disks.at_disk, directory, work))

    async def _done(self, begin: Callable[[Callable[[], None]], None]) -> None:
        """Wait until what was begun calls back."""
        over = asyncio.Event()
        begin(over.set)
        await over.wait()
