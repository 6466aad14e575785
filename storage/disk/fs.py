"""The seam through which every file call of this room goes.

`FileSystem` is a record of functions, each of them the operating system's own, so that a
call costs one attribute look-up. A test builds one whose functions fail, tear, fill up or
stop at the n-th call. Paths are `str`, open files are descriptors.

Nothing here swallows an `OSError`: the caller knows which partition it hurts.
"""

import fcntl
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

READ = os.O_RDONLY | os.O_CLOEXEC
READ_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
REPLACE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


@dataclass(slots=True)
class FileSystem:
    """The operating system's file calls; all of them raise `OSError`."""

    open: Callable[[str, int, int], int] = os.open
    close: Callable[[int], None] = os.close
    write: Callable[[int, Buffer], int] = os.write
    writev: Callable[[int, Sequence[Buffer]], int] = os.writev
    pwrite: Callable[[int, Buffer, int], int] = os.pwrite
    pread: Callable[[int, int, int], bytes] = os.pread
    preadv: Callable[[int, Sequence[bytearray | memoryview], int, int], int] = os.preadv
    fsync: Callable[[int], None] = os.fsync
    ftruncate: Callable[[int, int], None] = os.ftruncate
    control: Callable[[int, int, bytes], bytes] = fcntl.fcntl
    rename: Callable[[str, str], None] = os.replace
    link: Callable[[str, str], None] = os.link
    unlink: Callable[[str], None] = os.unlink
    make_directory: Callable[[str], None] = os.mkdir
    remove_directory: Callable[[str], None] = os.rmdir
    list_directory: Callable[[str], list[str]] = os.listdir
    stat: Callable[[str], os.stat_result] = os.stat
    fstat: Callable[[int], os.stat_result] = os.fstat
    set_times: Callable[[str, tuple[float, float]], None] = os.utime
    statvfs: Callable[[str], os.statvfs_result] = os.statvfs


REAL = FileSystem()


def write_all(fs: FileSystem, fd: int, data: Buffer) -> None:
    """Write every byte of `data`, whatever each call accepts."""
    written = fs.write(fd, data)
    if written != len(data):
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[fs.write(fd, rest) :]


def read_file(fs: FileSystem, path: str) -> bytes:
    """The whole content of a small file."""
    fd = fs.open(path, READ, 0)
    try:
        chunks = []
        position = 0
        while chunk := fs.pread(fd, 1 << 20, position):
            chunks.append(chunk)
            position += len(chunk)
        return b"".join(chunks)
    finally:
        fs.close(fd)


def write_file(fs: FileSystem, path: str, data: Buffer, *, sync: bool = True) -> None:
    """Create or overwrite a small file, synced to the disk unless told otherwise."""
    fd = fs.open(path, REPLACE, 0o644)
    try:
        write_all(fs, fd, data)
        if sync:
            fs.fsync(fd)
    finally:
        fs.close(fd)


def replace_file(fs: FileSystem, path: str, data: Buffer, temporary: str | None = None) -> None:
    """Overwrite a small file so that a crash leaves either the old or the new content.

    Written to `temporary` (`<path>.tmp`), synced, renamed over `path`, and the directory
    synced, as Kafka's CheckpointFile does.
    """
    temporary = temporary or path + ".tmp"
    write_file(fs, temporary, data)
    fs.rename(temporary, path)
    sync_directory(fs, parent_of(path))


def sync_file(fs: FileSystem, path: str) -> None:
    """Make what was written to a file durable."""
    fd = fs.open(path, READ, 0)
    try:
        fs.fsync(fd)
    finally:
        fs.close(fd)


def open_directory(fs: FileSystem, path: str) -> int:
    """A descriptor by which a directory can be synced."""
    return fs.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0)


def sync_directory(fs: FileSystem, path: str) -> None:
    """Make creations, renames and removals inside a directory durable."""
    fd = open_directory(fs, path)
    try:
        fs.fsync(fd)
    finally:
        fs.close(fd)


def remove_tree(fs: FileSystem, path: str) -> None:
    """Remove a directory and everything in it; one that is already gone is fine."""
    try:
        names = fs.list_directory(path)
    except FileNotFoundError:
        return
    for name in names:
        remove_path(fs, f"{path}/{name}")
    fs.remove_directory(path)


def remove_path(fs: FileSystem, path: str) -> None:
    """Remove a file or a directory tree; one that is already gone is fine."""
    try:
        fs.unlink(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        remove_tree(fs, path)


def exists(fs: FileSystem, path: str) -> bool:
    """Whether a path names anything; errors other than its absence are raised."""
    try:
        fs.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def parent_of(path: str) -> str:
    """The directory that holds `path`."""
    return path.rpartition("/")[0] or "/"
