"""Room for what a codec writes, of up to hundreds of megabytes, without holding others up.

A bytearray is filled with zeros and bytes are copied out of it while nobody else can have the
interpreter: 200 ms for 256 MB. So a large one is a mapping of an unnamed file: its pages are added
by the kernel as they are written, and read from the file by one call, both of which let go of the
interpreter.
"""

import os
from mmap import mmap
from typing import Final

MAPPED_ABOVE_BYTES: Final = 1 << 20


class Scratch:
    """`size` bytes to write to in `view`."""

    __slots__ = ("_fd", "view")

    def __init__(self, size: int) -> None:
        self._fd = -1
        mapped: mmap | None = None
        if size > MAPPED_ABOVE_BYTES and hasattr(os, "memfd_create"):
            mapped = self._map(size)
        self.view = memoryview(bytearray(size) if mapped is None else mapped)

    def _map(self, size: int) -> mmap | None:
        """None without two descriptors, one the mapping's own: no disk has failed, nor a batch."""
        try:
            self._fd = os.memfd_create("barnabas-scratch")
            os.truncate(self._fd, size)
            return mmap(self._fd, size)
        except OSError:
            self.close()
            return None

    def first(self, count: int) -> bytes:
        """The first `count` bytes that were written."""
        if self._fd < 0:
            return bytes(self.view[:count])
        parts = []
        done = 0
        while done < count:  # one call reads less than 2 GB
            parts.append(os.pread(self._fd, count - done, done))
            done += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Nothing more is read; the room goes with the last view of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
