"""What is to be sent or looked up in a file that is not in memory is read in a thread first.

`sendfile` of pages that are on the disk only would stop the event loop, and with it every other
client, until the disk has answered. So a stretch is probed before it is sent (`is_cached`), and
read in a thread if a probe finds a hole (`ReadAhead`): the pages are in the cache afterwards,
what is read is thrown away. A look-up meets ColdRead, and is tried again after that (`warm`).

A probe is a read of one byte that gives up instead of waiting (`preadv2` with RWF_NOWAIT); the
kernel then begins to read on its own account, in 40 µs. Where there is no such read, or the file
system cannot say (EOPNOTSUPP), everything counts as cached.
"""

import asyncio
import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from barnabas.server.core.turns import Waiting
from barnabas.storage.disk.open_files import ColdRead, FileSlice

# Four probes for a megabyte, under 3 µs. A file that is read in sequence has holes of many
# megabytes, and two would do; of a file that is in memory here and there, in pieces of 128 KB,
# they miss one cold megabyte in six, and the loop reads what is missing.
PROBE_EVERY_BYTES = 352 * 1024
PAGE_BYTES = 4096
THREADS = 4
SCRATCH_BYTES = 64 * 1024

T = TypeVar("T")

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)
_probe = [bytearray(1)]


class FileRange(Protocol):
    """Part of an open file: what storage's slices are."""

    @property
    def fd(self) -> int: ...
    @property
    def position(self) -> int: ...
    def __len__(self) -> int: ...


def is_cached(fd: int, position: int, count: int) -> bool:
    """Whether a stretch can be sent without waiting for a disk, as far as its probes tell."""
    if not _NOWAIT:
        return True
    last = position + count - 1
    try:
        for at in range(position, last - PAGE_BYTES, PROBE_EVERY_BYTES):
            os.preadv(fd, _probe, at, _NOWAIT)
        os.preadv(fd, _probe, last, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError:  # it cannot be told, or not be read at all: who sends it will meet that
        return True
    return True


def read_cached(fd: int, into: memoryview, position: int) -> bool:
    """Fill `into` from a file, if that can be done without waiting for a disk."""
    try:
        return os.preadv(fd, [into], position, _NOWAIT) == len(into)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            return False
    try:  # the file system cannot say
        return os.preadv(fd, [into], position) == len(into)
    except OSError:
        return False


class ReadAhead:
    """Threads that bring stretches of files into the page cache."""

    def __init__(self) -> None:
        # How many stretches were read so far.
        self.stretches = 0
        self._threads: ThreadPoolExecutor | None = None

    def read(
        self, source: FileRange, position: int, count: int, done: Callable[[], object]
    ) -> None:
        """Read `count` bytes from `position` on, then call `done` on the running loop.

        `source` and with it the file stay open until then. What cannot be read is done, too:
        whoever sends it meets the error.
        """
        self.stretches += 1
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "barnabas-read-ahead")
        loop = asyncio.get_running_loop()

        def work() -> None:
            try:
                _read(source, position, count)
            finally:
                loop.call_soon_threadsafe(done)

        self._threads.submit(work)

    def warm(self, look_up: Callable[[], T], cold: ColdRead) -> Waiting[T]:
        """What a look-up comes to that has met a cold read; others are served meanwhile.

        It is called again for each stretch that has been read, so a failed attempt must leave
        nothing behind. Where a stretch is cold again though it was read, it waits for the disk.
        """
        seen = set()
        while (place := (cold.stretch.fd, cold.stretch.position)) not in seen:
            seen.add(place)
            yield from self._brought(cold)
            try:
                return look_up()
            except ColdRead as another:
                cold = another
        mode = cold.mode
        was_overruled, mode.is_overruled = mode.is_overruled, True
        try:
            return look_up()
        finally:
            mode.is_overruled = was_overruled

    def content(self, stretch: FileSlice) -> Waiting[bytes]:
        """The bytes of a stretch of a file."""
        try:
            return stretch.read_warm()
        except ColdRead as cold:
            return (yield from self.warm(stretch.read_warm, cold))

    def _brought(self, cold: ColdRead) -> Waiting[None]:
        done = asyncio.get_running_loop().create_future()
        stretch = cold.stretch
        self.read(stretch, stretch.position, len(stretch), partial(_settle, done))
        while not done.done():
            yield done

    def stop(self) -> None:
        """Read nothing any more; what has begun ends first."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None


def _settle(done: "asyncio.Future[None]") -> None:
    if not done.done():  # else whoever waited has gone
        done.set_result(None)


def _read(source: FileRange, position: int, count: int) -> None:
    """One call for all of it, so that the thread asks for the interpreter only once.

    Every part goes to the same few pages, which stay in the processor's cache.
    """
    scratch = bytearray(SCRATCH_BYTES)
    end = position + count
    try:
        while position < end:
            parts = -(-(end - position) // SCRATCH_BYTES)
            done = os.preadv(source.fd, [scratch] * parts, position)
            if not done:
                return
            position += done
    except OSError:
        return
