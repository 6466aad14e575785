"""`.lock`: one process at a time uses a data directory.

The lock is an open-file-description lock on the whole file: Kafka's own (a POSIX lock taken
by Java) and ours exclude each other, two brokers in one process exclude each other too, and
the kernel lets go of it however the process ends.
"""

import fcntl
from struct import Struct

from barnabas.storage.disk.fs import READ_WRITE, FileSystem
from barnabas.storage.errors import LogDirectoryLocked

NAME = ".lock"
# struct flock of 64-bit Linux: type, whence, start, length (0: to the end), pid (must be 0).
_FLOCK = Struct("@hhqqi4x")
_WHOLE_FILE = _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0)


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
