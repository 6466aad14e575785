"""Stretches of open files, as storage hands them out, for a descriptor that a test owns."""

import os


class Slice:
    """`size` bytes of a file from `position` on."""

    def __init__(self, fd: int, position: int, size: int) -> None:
        self.fd = fd
        self.position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self) -> bytes:
        return os.pread(self.fd, self._size, self.position)
