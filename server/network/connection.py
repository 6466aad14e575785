"""One client's connection: bytes in, one request in progress, answers out in request order.

Raw non-blocking socket on the event loop. What keeps a client from hurting the broker:

* One request at a time. The next stays in the buffer until the answer of this one is queued.
* A request owns its bytes until it is answered, however late (parked, delayed by a fault, worked
  on by a task): meanwhile what comes is read behind its frame, or into another buffer.
* While a request is parked the next frame is still read (a long poll gives way to it, and a
  closed socket is noticed), then reading stops until the parked one is answered.
* While answers wait in the outbox nothing more is read: a client that does not read its
  answers stops being served, and costs one answer's head and some open files. So it is while
  a thread reads from the disk what is to be sent next.
* Under `queued.max.request.bytes` a large frame is read on only while there is memory for it; it
  is given back when the handler has seen the request, which for one served in turns is late.
* At most `FAIR_REQUESTS` are served in one go before other connections get their turn.

    open --(peer closes, bad frame, I/O error, broker stops)--> closed
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Final, Protocol

from barnabas.server.network.outbox import GATHER_BYTES, Outbox
from barnabas.server.network.reactor import watcher
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.network.request_memory import RequestMemory
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Encoded
from barnabas.wire.errors import ProtocolError
from barnabas.wire.frame import FIRST_BYTES, FrameBuffer

FAIR_REQUESTS: Final = 64
SHRINK_ABOVE_BYTES: Final = 64 * 1024
UNKNOWN_SOFTWARE: Final = ("unknown", "unknown")
_FETCH: Final = int(ApiKey.FETCH)
_GONE: Final = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ETIMEDOUT, errno.ENOTCONN}


class Pending(Protocol):
    """A request that will be answered later."""

    def hurry(self) -> None: ...
    def cancel(self) -> None: ...


class Owner(Protocol):
    """What a connection needs of its listener."""

    @property
    def process(self) -> "Callable[[Connection, memoryview], None]":
        """Serves one request: answers by `connection.resume`, or calls `connection.park`.

        Neither, where no answer is due.
        """

    @property
    def read_ahead(self) -> ReadAhead:
        """Reads from disks what is not in memory."""

    @property
    def request_memory(self) -> RequestMemory | None:
        """What frames are taken from; None if it is not limited."""

    def closed(self, connection: "Connection", reason: str) -> None:
        """The connection is gone."""


class Connection:
    """A client's socket and what is in progress on it."""

    __slots__ = (
        "_claimed_bytes",
        "_clock_ms",
        "_fd",
        "_has_writer",
        "_held_bytes",
        "_is_short",
        "_loop",
        "_memory",
        "_owner",
        "_pending",
        "_process",
        "_pumping",
        "_reading",
        "_unsent",
        "_watcher",
        "closed",
        "frames",
        "last_active_ms",
        "listener_name",
        "outbox",
        "parked_fetch",
        "peer_host",
        "peer_port",
        "sock",
        "software",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        owner: Owner,
        listener_name: str,
        max_frame_bytes: int,
        clock_ms: Callable[[], float],
    ) -> None:
        self.sock = sock
        self.listener_name = listener_name
        self.peer_host, self.peer_port = sock.getpeername()[:2]
        # Name and version of the client's library, from ApiVersions.
        self.software = UNKNOWN_SOFTWARE
        self.frames = FrameBuffer(max_frame_bytes)
        self.outbox = Outbox(sock)
        # A consumer's long poll, which gives way to whatever waits behind it.
        self.parked_fetch: Pending | None = None
        self.closed = False
        self.last_active_ms = clock_ms()
        self._clock_ms = clock_ms
        self._loop = loop
        self._watcher = watcher(loop)
        self._fd = sock.fileno()
        self._owner = owner
        self._process = owner.process
        self._memory = owner.request_memory
        self._claimed_bytes = 0
        # Of the frame that is being served in turns; it has left `frames`, but is not let go.
        self._held_bytes = 0
        # Whether it waits for memory.
        self._is_short = False
        self._pending: Pending | None = None
        # `_unsent`: answers wait for the socket (then there is a writer) or for a disk.
        self._reading = self._unsent = self._has_writer = self._pumping = False
        self._read_on()

    @property
    def is_busy(self) -> bool:
        """Whether a request is in progress or an answer unsent: then it is not idle.

        Nor is a connection that is kept from sending its request.
        """
        return self._pending is not None or bool(self.outbox) or self._is_short

    # What the owner calls.

    def park(self, pending: Pending) -> None:
        """The request in progress will be answered by `resume`; its handler has seen its frame."""
        self._pending = pending
        if self._held_bytes:
            self._let_go_of_frame()

    def hold(self, pending: Pending, frame_bytes: int) -> None:
        """The same, but the frame is still being read: its memory is taken until it is not."""
        self._pending = pending
        self._held_bytes = frame_bytes if frame_bytes > FIRST_BYTES else 0

    def resume(self, encoded: Encoded | None) -> None:
        """The request in progress is answered (None: without a response); go on with the next."""
        if self.closed:
            return
        self._pending = self.parked_fetch = None
        if self._held_bytes:
            self._let_go_of_frame()
        if encoded is not None:
            self.outbox.put(encoded)
        if self._pumping:
            return
        self.last_active_ms = self._clock_ms()
        self._flush()
        if self.closed or self._unsent:
            return
        if self.frames.has_frame():
            self._loop.call_soon(self._pump)
        else:
            self._read_on()

    def close(self, reason: str) -> None:
        """Close the socket; what is parked is dropped, what is unsent is lost."""
        if self.closed:
            return
        self.closed = True
        if self._pending is not None:
            self._pending.cancel()
            self._pending = self.parked_fetch = None
        self._read_off()
        self._write_off()
        self.outbox.clear()
        self.frames.clear()
        self._held_bytes = 0
        if self._memory is not None:
            self._settle_memory(self._memory)
        self.sock.close()
        self._owner.closed(self, reason)

    def shrink(self) -> None:
        """Give back a large buffer that stands empty."""
        frames = self.frames
        if frames.capacity_bytes > SHRINK_ABOVE_BYTES and not len(frames) and self._pending is None:
            self.frames = FrameBuffer(frames.max_frame_bytes)

    # What the event loop calls.

    def _readable(self) -> None:
        frames = self.frames
        room = frames.writable() if self._pending is None else frames.writable_behind()
        try:
            count = self.sock.recv_into(room)
        except BlockingIOError:
            return
        except OSError as error:
            self.close(_gone(error))
            return
        if not count:
            self.close("the client closed the connection")
            return
        frames.received(count)
        self.last_active_ms = self._clock_ms()
        if self._pending is None:
            self._pump()
            return
        if self._memory is not None:
            self._settle_memory(self._memory)
        self._look_behind_parked()

    def _pump(self) -> None:
        """Serve the whole requests that have come, then send what they were answered."""
        if self._pumping or not self._may_serve():
            return
        self._pumping = has_more = True
        frames, process = self.frames, self._process
        try:
            for _ in range(FAIR_REQUESTS):
                frame = frames.next_frame()
                if frame is None:
                    has_more = False
                    break
                process(self, frame)
                if self._pending is not None or self.outbox.unsent_bytes > GATHER_BYTES:
                    break
        except ProtocolError as error:
            self.close(f"the client sent {error}")
        finally:
            self._pumping = False
        if self._memory is not None:
            self._settle_memory(self._memory)
        if self.outbox:
            self._flush()
        if not self.closed and not self._unsent:
            self._after_pump(has_more)

    def _may_serve(self) -> bool:
        """A method, so that mypyc looks again after a request (docs: What is compiled)."""
        return not (self.closed or self._unsent) and self._pending is None

    def _after_pump(self, has_more: bool) -> None:
        if self._pending is not None:
            self._look_behind_parked()
        elif has_more and self.frames.has_frame():
            self._loop.call_soon(self._pump)
        elif not self._reading:
            self._read_on()

    def _look_behind_parked(self) -> None:
        """A parked long poll gives way to another kind of request; one frame is read ahead."""
        if self.parked_fetch is not None:
            behind = self.frames.peek_api_key()
            if behind is not None and behind != _FETCH:
                self.parked_fetch.hurry()
                return
        if self.frames.has_frame():
            self._read_off()
        else:
            self._read_on()

    def _let_go_of_frame(self) -> None:
        self._held_bytes = 0
        if self._memory is not None:
            self._settle_memory(self._memory)

    def _settle_memory(self, memory: RequestMemory) -> None:
        """Hold as much as the frame that waits or has begun needs; without it, stop reading.

        So it is with the frame that is being served in turns, which is older and always let in.
        """
        size = self.frames.begun_bytes()
        # Frames up to the size that every connection's buffer has need no memory of their own.
        wanted = self._held_bytes + (size if size > FIRST_BYTES else 0)
        more = wanted - self._claimed_bytes
        if more > 0:
            self._is_short = not memory.take(self, more)
            if self._is_short:
                self._read_off()
                return
        else:
            memory.forget(self)
            self._is_short = False
        self._claimed_bytes = wanted
        if more < 0:
            self.shrink()
            memory.give_back(-more)

    def memory_granted(self, size: int) -> None:
        """The frame that has begun may come."""
        self._claimed_bytes += size
        self._is_short = False
        self._read_on()

    def _flush(self) -> None:
        outbox = self.outbox
        if outbox.cold is not None:
            return
        try:
            done = outbox.flush()
        except OSError as error:
            self.close(_gone(error))
            return
        if not done:
            self._wait_to_send()
        elif self._unsent:
            self._unsent = False
            self._write_off()

    def _wait_to_send(self) -> None:
        """Go on when the socket takes more, or when what is to be sent has been read."""
        if not self._unsent:
            self._unsent = True
            self._read_off()
        cold = self.outbox.cold
        if cold is not None:
            self._write_off()
            self._owner.read_ahead.read(*cold, self._warmed)
        elif not self._has_writer:
            self._has_writer = True
            self._watcher.watch_writable(self._fd, self._writable)

    def _warmed(self) -> None:
        if not self.closed:
            self.outbox.warmed()
            self._writable()

    def _writable(self) -> None:
        self._flush()
        if self.closed or self._unsent:
            return
        self.last_active_ms = self._clock_ms()
        if self._pending is None:
            self._pump()
        else:
            self._look_behind_parked()

    def _write_off(self) -> None:
        if self._has_writer:
            self._has_writer = False
            self._watcher.unwatch_writable(self._fd)

    def _read_on(self) -> None:
        if not self._reading and not self._unsent and not self._is_short:
            self._reading = True
            self._watcher.watch(self._fd, self._readable)

    def _read_off(self) -> None:
        if self._reading:
            self._reading = False
            self._watcher.unwatch(self._fd)


def _gone(error: OSError) -> str:
    """Why a socket failed, in the words of somebody who reads logs."""
    if error.errno in _GONE:
        return "the client broke the connection"
    return f"the socket failed: {error.strerror or error}"
