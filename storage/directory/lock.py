"""`.lock`: one process at a time uses a data directory.

The lock is an open-file-description lock on the whole file: Kafka's own (a POSIX lock taken
by Java) and ours exclude each other, two brokers in one process exclude each other too, and
the kernel lets go of it however the process ends.
"""

import fcntl
import os
from struct import Struct

from barnabas.storage.disk.fs import READ_WRITE, FileSystem, exists
from barnabas.storage.errors import LogDirectoryLocked

NAME = ".lock"
# struct flock of 64-bit Linux: type, whence, start, length (0: to the end), pid (must be 0).
_FLOCK = Struct("@hhqqi4x")
_WHOLE_FILE = _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0)


def is_held(fs: FileSystem, directory: str) -> bool:
    """Whether somebody holds a data directory; nothing is written, and no lock is taken.

    Raises OSError where the file cannot be read.
    """
    path = f"{directory}/{NAME}"
    if not exists(fs, path):
        return False
    fd = fs.open(path, os.O_RDONLY, 0)
    try:
        (kind, *_) = _FLOCK.unpack(fs.control(fd, fcntl.F_OFD_GETLK, _WHOLE_FILE))
    finally:
        fs.close(fd)
    return bool(kind != fcntl.F_UNLCK)


class DirectoryLock:
    """Holds a data directory until `release`."""

    def __init__(self, fs: FileSystem, directory: str) -> None:
        """Take the lock at once; raises LogDirectoryLocked if somebody else has it."""
        self._fs = fs
        self.fd = fs.open(f"{directory}/{NAME}", READ_WRITE, 0o644)
        try:
            fs.control(self.fd, fcntl.F_OFD_SETLK, _WHOLE_FILE)
        except BlockingIOError:
            fs.close(self.fd)
            raise LogDirectoryLocked(
                f"{directory} is in use by another broker, which holds its {NAME} file"
            ) from None
        except BaseException:
            fs.close(self.fd)
            raise

    def release(self) -> None:
        """Let others have the directory; further calls do nothing."""
        if self.fd >= 0:
            self._fs.close(self.fd)
            self.fd = -1
