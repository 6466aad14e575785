"""One connection to one ZooKeeper server: frames in and out, and whether it is still alive.

It runs on the broker's event loop. kazoo's own client would do this in a thread, and a thread of
Python beside a busy loop waits for the interpreter's lock at every step (docs/architecture.md).
"""

import asyncio
import struct
from collections.abc import Callable
from typing import Final

from barnabas.server.registry.znodes.zookeeper_wire import MOST_FRAME_BYTES, ping_frame

_LENGTH_BYTES: Final = 4
_BEATS: Final = 6  # in the life of a session; silence for four of them ends the connection


class Link(asyncio.Protocol):
    """A connection; what it hears goes to `on_frame`, the end of it to `on_lost`, once."""

    def __init__(
        self, on_frame: Callable[["Link", bytes], None], on_lost: Callable[["Link", str], None]
    ) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._has_sent = False
        self._silent_beats = 0
        self._fault = ""

    def send(self, data: bytes) -> None:
        """Send whole frames; what cannot be sent any more is lost with the connection."""
        self._has_sent = True
        if self._transport is not None:
            self._transport.write(data)

    def keep_alive(self, timeout_ms: int) -> None:
        """Say something often enough for a session of this length, and expect to hear something."""
        loop, every_s = asyncio.get_running_loop(), timeout_ms / 1000 / _BEATS

        def beat() -> None:
            self._beat = loop.call_later(every_s, beat)
            self._silent_beats += 1
            if self._silent_beats > _BEATS * 2 // 3:
                self.drop(f"ZooKeeper has said nothing for {2 * timeout_ms // 3} ms")
            elif not self._has_sent:
                self.send(ping_frame())
            self._has_sent = False

        self._silent_beats = 0
        self._beat = loop.call_later(every_s, beat)

    def drop(self, why: str) -> None:
        """End the connection; `on_lost` is told soon."""
        self._fault = self._fault or why
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._silent_beats = 0
        received = self._received
        received += data
        start = 0
        while len(received) - start >= _LENGTH_BYTES:
            (length,) = struct.unpack_from(">i", received, start)
            if not 0 <= length <= MOST_FRAME_BYTES:
                return self.drop(f"a frame of {length} bytes came: is that a ZooKeeper?")
            end = start + _LENGTH_BYTES + length
            if len(received) < end:
                break
            body = bytes(received[start + _LENGTH_BYTES : end])
            start = end
            if self._transport is not None and not self._transport.is_closing():
                self._take(body)
        del received[:start]

    def connection_lost(self, error: Exception | None) -> None:
        if self._beat is not None:
            self._beat.cancel()
        self._transport = None
        self._on_lost(self, self._fault or str(error or "ZooKeeper has closed the connection"))

    def _take(self, body: bytes) -> None:
        try:
            self._on_frame(self, body)
        except (struct.error, UnicodeDecodeError, ValueError, IndexError) as error:
            self.drop(f"an answer cannot be read: {error}")
