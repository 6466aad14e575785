"""The least a broker in Python could do for a Produce: the floor that `bench kafka` stands on.

Reads frames on asyncio's loop, checks CRC-32C, appends the batch to one file, sends an answer that
was made beforehand. No topics, no versions, no offsets. What Barnabas costs above this is ours to
answer for; what it costs itself is the interpreter's, the kernel's and the machine's of today.

    python bare.py FILE     prints the address it listens on
"""

import asyncio
import os
import socket
import struct
import sys

from crc32c import crc32c

BUFFER_BYTES = 2 * 1024 * 1024
LARGEST_FILE_BYTES = 4 << 30  # then the file starts over; no load here is that long
# As loadgen sends them: Produce v9 with one partition of a topic whose name has one letter.
BATCH_AT = 48
CHECKED_FROM = 21
ANSWER = b"\0\2\2t\2" + struct.pack(">ihqqq", 0, 0, 1, -1, 0) + b"\1\0\0\0" + struct.pack(">ix", 0)
HEAD = struct.Struct(">ii")


class GrowingFile:
    """Where all batches go, whatever their topic."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
        self._end = 0

    def append(self, batch: memoryview) -> None:
        if self._end > LARGEST_FILE_BYTES:
            os.ftruncate(self._fd, 0)
            self._end = 0
        self._end += os.pwrite(self._fd, batch, self._end)


class Floor:
    """One connection."""

    def __init__(self, sock: socket.socket, file: GrowingFile) -> None:
        self._sock = sock
        self._file = file
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._waiting = 0
        self._answer = bytearray(HEAD.pack(len(ANSWER) + 4, 0) + ANSWER)

    def readable(self) -> None:
        count = self._sock.recv_into(self._buffer[self._waiting :])
        if not count:
            asyncio.get_running_loop().remove_reader(self._sock)
            self._sock.close()
            return
        start, end = 0, self._waiting + count
        while end - start >= 4:
            stop = start + 4 + int.from_bytes(self._buffer[start : start + 4], "big")
            if stop > end:
                break
            self._serve(start, stop)
            start = stop
        self._waiting = end - start
        if start and self._waiting:
            self._buffer[: self._waiting] = bytes(self._buffer[start:end])

    def _serve(self, start: int, stop: int) -> None:
        batch = self._buffer[start + BATCH_AT : stop]
        crc32c(batch[CHECKED_FROM:])
        self._file.append(batch)
        self._answer[4:8] = self._buffer[start + 8 : start + 12]
        self._sock.send(self._answer)


async def serve(path: str) -> None:
    loop = asyncio.get_running_loop()
    file = GrowingFile(path)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)

    def accept() -> None:
        sock, _ = listening.accept()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop.add_reader(sock, Floor(sock, file).readable)

    loop.add_reader(listening, accept)
    print(f"127.0.0.1:{listening.getsockname()[1]}", flush=True)
    await loop.create_future()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
