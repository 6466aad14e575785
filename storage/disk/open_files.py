"""Open files that are counted, cached and cut into slices for sending.

A broker has far more segment files than descriptors. Each file is a `CachedFile`: a path that
is opened when somebody needs it and may be closed again by its `FileCache` when too many are
open. What is handed out is an `OpenFile`, whose descriptor lives exactly as long as somebody
refers to it: evicting, renaming or unlinking the file never pulls it from under a `FileSlice`
that is being sent.

Reads wait for the disk, or they do not: whoever serves others too looks things up while
`ReadMode.is_warm_only`, and a read of what is not in the page cache raises ColdRead. It says
which stretch somebody else has to read before the look-up is tried again.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import get_ident
from typing import Final

from barnabas.storage.disk.fs import READ_WRITE, Buffer, FileSystem, open_directory
from barnabas.storage.errors import is_out_of_descriptors

DEFAULT_CAPACITY: Final = 512
FEWEST: Final = 8
"""So many are kept open whatever happens: whoever opens a file may be reading from others."""
RESERVE: Final = 2 * FEWEST
"""So many can be opened after `reserve`: what is begun then opens fewer at a time."""
EXISTING: Final = READ_WRITE & ~os.O_CREAT
AHEAD_BYTES: Final = 128 << 10
"""What is read along with a cold page: as much as the kernel itself reads ahead."""
NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)


class ReadMode:
    """How the files of a cache are read just now."""

    __slots__ = ("is_overruled", "is_warm_only")

    def __init__(self) -> None:
        self.is_warm_only = False
        """A look-up is under way that must not wait for the disk."""
        self.is_overruled = NOWAIT == 0
        """It has to, after all: the pages do not stay, or it cannot be told if they are there."""


class ColdRead(Exception):
    """A look-up needs a stretch of a file that is not in the page cache."""

    def __init__(self, stretch: "FileSlice", mode: ReadMode) -> None:
        super().__init__("not in the page cache")
        self.stretch = stretch
        self.mode = mode


class OpenFile:
    """A descriptor that closes itself with the last reference to it.

    Whoever reads or writes does it through this object, and so refers to it until the call has
    ended. A bare descriptor is closed as soon as the cache gives its place to another file, and
    its number is the next file's: compiled code lets go of an object at its last mention.
    """

    __slots__ = ("_fs", "_mode", "_pread", "_pwrite", "fd")

    def __init__(self, fs: FileSystem, fd: int, mode: ReadMode | None = None) -> None:
        self.fd = fd
        self._fs = fs
        self._mode = ReadMode() if mode is None else mode
        self._pread = fs.pread
        self._pwrite = fs.pwrite

    def __del__(self) -> None:
        self._fs.close(self.fd)

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position` on, as one call gives them; ColdRead if warm only."""
        if self._mode.is_warm_only:
            return self.read_warm(size, position)
        return self._pread(self.fd, size, position)

    def read_fully(self, size: int, position: int) -> bytes:
        """`size` bytes from `position` on, fewer only where the file ends; ColdRead as above."""
        if self._mode.is_warm_only:
            return self.read_warm(size, position)
        return self.read_waiting(size, position)

    def read_waiting(self, size: int, position: int) -> bytes:
        """The same, and never ColdRead: `ReadMode` is the loop's, which changes it as it likes."""
        data = self._pread(self.fd, size, position)
        if len(data) == size or not data:
            return data
        chunks = [data]
        done = len(data)
        while done < size and (data := self._pread(self.fd, size - done, position + done)):
            chunks.append(data)
            done += len(data)
        return b"".join(chunks)

    def read_warm(self, size: int, position: int) -> bytes:
        """All of a stretch that is in the page cache, fewer bytes only where the file ends."""
        if self._mode.is_overruled:
            return self.read_waiting(size, position)
        buffer = bytearray(size)
        try:
            done = self._fs.preadv(self.fd, [buffer], position, NOWAIT)
            while done < size:  # the file ends there, or a page is missing
                more = self._fs.preadv(
                    self.fd, [memoryview(buffer)[done:]], position + done, NOWAIT
                )
                if not more:
                    return bytes(buffer[:done])
                done += more
        except BlockingIOError:
            raise ColdRead(self._stretch(size, position), self._mode) from None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            self._mode.is_overruled = True  # the file system cannot say
            return self.read_waiting(size, position)
        return bytes(buffer)

    def _stretch(self, size: int, position: int) -> "FileSlice":
        """What is asked for, and what the kernel would read along with it."""
        start = position - position % AHEAD_BYTES
        end = position + size
        return FileSlice(self, start, end + -end % AHEAD_BYTES - start)

    def write(self, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`."""
        size = len(data)
        written = self._pwrite(self.fd, data, position)
        if written != size:
            self._write_rest(memoryview(data)[written:], position + written)

    def _write_rest(self, rest: memoryview, position: int) -> None:
        while rest:
            written = self._pwrite(self.fd, rest, position)
            rest, position = rest[written:], position + written

    def size_bytes(self) -> int:
        """The file's length."""
        return self._fs.fstat(self.fd).st_size

    def truncate(self, size: int) -> None:
        """Let the file have `size` bytes."""
        self._fs.ftruncate(self.fd, size)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        self._fs.fsync(self.fd)


class CachedFile:
    """A file that is opened on demand.

    `opened` is the open file or None; hot paths read it directly and call `open` on None.
    `used` keeps the file from being evicted before the cache has gone round once more.
    `is_lost` forbids any further use: after a disk's failure, or when its log is deleted.
    """

    __slots__ = ("_cache", "is_lost", "opened", "path", "used")

    def __init__(self, cache: "FileCache", path: str) -> None:
        self._cache = cache
        self.path = path
        self.opened: OpenFile | None = None
        self.used = False
        self.is_lost = False

    def open(self) -> OpenFile:
        """The open file for reading and writing; raises FileNotFoundError if there is none."""
        return self.opened or self._cache.open(self, EXISTING)

    def create(self) -> OpenFile:
        """Like `open`, but a missing file is made."""
        return self.opened or self._cache.open(self, READ_WRITE)

    def size(self) -> int:
        """The file's length in bytes; to ask for it does not open the file."""
        if self.opened is not None:
            return self.opened.size_bytes()
        self._refuse_if_lost()
        return self._cache.fs.stat(self.path).st_size

    def rename(self, path: str) -> None:
        """Move the file; an open descriptor stays valid."""
        self._refuse_if_lost()
        self._cache.fs.rename(self.path, path)
        self.path = path

    def close(self) -> None:
        """Give up the descriptor; it is closed once no slice uses it."""
        if self.opened is not None:
            self._cache.forget(self)

    def _refuse_if_lost(self) -> None:
        if self.is_lost:
            raise OSError(errno.EIO, "not to be used after a failure or a deletion", self.path)


class FileCache:
    """Keeps at most `capacity` of its files open, evicting the least recently used.

    Recency is one bit per file, set by whoever uses the file and cleared as the hand passes
    (the clock algorithm): a hit costs the hot path one store.

    Where the process has no descriptor left (EMFILE, ENFILE), some are given up for whatever is
    to be opened, be it through `fs`. That is left to the thread that made the cache: others
    would take descriptors from under its reads.
    """

    def __init__(self, fs: FileSystem, capacity: int = DEFAULT_CAPACITY) -> None:
        self._open = fs.open
        self.fs = replace(fs, open=self._open_making_room)
        self.capacity = capacity
        self.mode = ReadMode()
        self._owner = get_ident()
        self._files: dict[CachedFile, None] = {}

    def __len__(self) -> int:
        return len(self._files)

    def open(self, file: CachedFile, flags: int) -> OpenFile:
        """Open a file of this cache, making room first."""
        file._refuse_if_lost()
        while len(self._files) >= self.capacity:
            self._evict_one()
        opened = OpenFile(self.fs, self.fs.open(file.path, flags, 0o644), self.mode)
        file.opened = opened
        self._files[file] = None
        return opened

    def _open_making_room(self, path: str, flags: int, mode: int) -> int:
        while True:
            try:
                return self._open(path, flags, mode)
            except OSError as error:
                is_helpless = len(self._files) <= FEWEST or get_ident() != self._owner
                if is_helpless or not is_out_of_descriptors(error):
                    raise
            self._evict_one()

    @contextmanager
    def warm_only(self) -> Iterator[None]:
        """Meanwhile whatever would wait for the disk raises ColdRead."""
        self.mode.is_warm_only = True
        try:
            yield
        finally:
            self.mode.is_warm_only = False

    def make_room(self) -> bool:
        """Give up some descriptors, for another thread's sake; False if hardly any is left."""
        evictable = len(self._files) - FEWEST
        for _ in range(max(evictable // 4, min(evictable, 1))):
            self._evict_one()
        return evictable > 0

    def reserve(self, directory: str) -> None:
        """See to it that files can be opened for what must not stop half-way; else OSError.

        Nothing else opens files in this thread until the caller is done, and other threads open
        few at a time.
        """
        held: list[int] = []
        try:
            while len(held) < RESERVE:
                held.append(open_directory(self.fs, directory))
        finally:
            for fd in held:
                self.fs.close(fd)

    def forget(self, file: CachedFile) -> None:
        """Drop the cache's reference to a file's descriptor."""
        file.opened = None
        self._files.pop(file, None)

    def _evict_one(self) -> None:
        while True:
            file = next(iter(self._files))
            del self._files[file]
            if not file.used:
                file.opened = None
                return
            file.used = False
            self._files[file] = None


class FileSlice:
    """`size` bytes of an open file from `position` on: what a fetch answer sends.

    The bytes stay readable for as long as the slice exists, even when the segment is deleted.
    """

    __slots__ = ("_file", "position", "size")

    def __init__(self, file: OpenFile, position: int, size: int) -> None:
        self._file = file
        self.position = position
        self.size = size

    @property
    def fd(self) -> int:
        """The descriptor to send from; valid while this object is referred to."""
        return self._file.fd

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"FileSlice(fd={self.fd}, position={self.position}, size={self.size})"

    def read(self) -> bytes:
        """All of the slice's bytes."""
        return self._file.read_fully(self.size, self.position)

    def read_waiting(self) -> bytes:
        """The same, in a worker: whatever is looked up meanwhile, it waits for the disk."""
        return self._file.read_waiting(self.size, self.position)

    def read_warm(self) -> bytes:
        """The same, but ColdRead rather than wait for the disk."""
        return self._file.read_warm(self.size, self.position)
