"""One client's connection: bytes in, one request in progress, answers out in request order.

A raw non-blocking socket, behind a `Channel`, on the event loop. What keeps a client from hurting
the broker:

* One request at a time. The next stays in the buffer until the answer of this one is queued.
* A request owns its bytes until it is answered, however late (parked, delayed by a fault, worked
  on by a task): meanwhile what comes is read behind its frame, or into another buffer.
* While a request is parked the next frame is still read (a long poll gives way to it, and a
  closed socket is noticed), then reading stops until the parked one is answered.
* Behind a produce that only waits for replicas, those that follow it are served, too; their
  answers wait for its (`served_behind`).
* While answers wait in the outbox nothing more is read: a client that does not read its
  answers stops being served, and costs one answer's head and some open files. So it is while
  a thread reads from the disk what is to be sent next.
* Under `queued.max.request.bytes` a large frame is read on only while there is memory for it; it
  is given back when the handler has seen the request, which for one served in turns is late.
* A client that neither sends nor takes its answer is closed after `connections.max.idle.ms`.
* A client that is throttled is answered at once, and then not read from for as long (KIP-219).
* At most `FAIR_REQUESTS` are served in one go before other connections get their turn.

What it does in which state is the table of `connection_states`; what comes out of a request is
an `Outcome`, which nobody but the connection carries out.
"""

import asyncio
import errno
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from barnabas.server.core.clock import Timer
from barnabas.server.network.channel import Channel
from barnabas.server.network.connection_states import (
    AS_IT_WAS,
    EVENT_COUNT,
    IMPOSSIBLE,
    NEXT,
    WAIT_FOR_NOTHING,
    WAIT_TO_READ,
    WAIT_TO_WRITE,
    WANTS,
    ConnectionEvent,
    ConnectionState,
    next_state,
)
from barnabas.server.network.outbox import GATHER_BYTES, Outbox
from barnabas.server.network.outcomes import Close, InTurns, Outcome, Pending, Throttled
from barnabas.server.network.principal import ANONYMOUS
from barnabas.server.network.reactor import watcher
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.network.request_memory import RequestMemory
from barnabas.server.network.served_behind import (
    ANY_PLACE,
    BEHIND_FRAME_BYTES,
    ServedBehind,
    drop,
)
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Encoded
from barnabas.wire.errors import ProtocolError
from barnabas.wire.frame import FIRST_BYTES, FrameBuffer

FAIR_REQUESTS: Final = 64
SHRINK_ABOVE_BYTES: Final = 64 * 1024
UNKNOWN_SOFTWARE: Final = ("unknown", "unknown")
_FETCH: Final = int(ApiKey.FETCH)
_PRODUCE: Final = int(ApiKey.PRODUCE)
_READING: Final = int(ConnectionState.READING)
_READY: Final = int(ConnectionState.READY)
_SERVING: Final = int(ConnectionState.SERVING)
_PARKED: Final = int(ConnectionState.PARKED)
_PARKED_SHORT: Final = int(ConnectionState.PARKED_SHORT)
_SENDING: Final = int(ConnectionState.SENDING)
_SENDING_PARKED: Final = int(ConnectionState.SENDING_PARKED)
_MUTED: Final = int(ConnectionState.MUTED)
_CLOSED: Final = int(ConnectionState.CLOSED)
_TURN: Final = int(ConnectionEvent.TURN)
_SERVED: Final = int(ConnectionEvent.SERVED)
_LEFT: Final = int(ConnectionEvent.LEFT)
_PARK: Final = int(ConnectionEvent.PARK)
_ANSWERED: Final = int(ConnectionEvent.ANSWERED)
_BEHIND: Final = int(ConnectionEvent.BEHIND)
_BLOCKED: Final = int(ConnectionEvent.BLOCKED)
_COLD: Final = int(ConnectionEvent.COLD)
_SENT: Final = int(ConnectionEvent.SENT)
_LACK: Final = int(ConnectionEvent.LACK)
_GRANTED: Final = int(ConnectionEvent.GRANTED)
_MUTE: Final = int(ConnectionEvent.MUTE)
_UNMUTE: Final = int(ConnectionEvent.UNMUTE)
_CLOSE: Final = int(ConnectionEvent.CLOSE)
_BEING_SERVED: Final = InTurns(0)
_GONE: Final = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ETIMEDOUT, errno.ENOTCONN}


class Owner(Protocol):
    """What a connection needs of its listener."""

    @property
    def process(self) -> "Callable[[Connection, memoryview], Outcome]":
        """Serves one request. What is parked comes to `connection.resume` later.

        Raises ProtocolError: the connection is lost.
        """

    @property
    def read_ahead(self) -> ReadAhead:
        """Reads from disks what is not in memory."""

    @property
    def request_memory(self) -> RequestMemory | None:
        """What frames are taken from; None if it is not limited."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Calls back once, by the broker's clock."""

    def closed(self, connection: "Connection", reason: str) -> None:
        """The connection is gone."""


class Connection:
    """A client's channel and what is in progress on it."""

    __slots__ = (
        "_behind",
        "_channel",
        "_claimed_bytes",
        "_clock_ms",
        "_fd",
        "_held_bytes",
        "_loop",
        "_memory",
        "_muted",
        "_owner",
        "_pending",
        "_process",
        "_state",
        "_waits_for",
        "_watcher",
        "frames",
        "is_misused",
        "last_active_ms",
        "listener_name",
        "outbox",
        "peer_host",
        "peer_port",
        "place",
        "principal",
        "software",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        channel: Channel,
        peer: tuple[str, int],
        owner: Owner,
        listener_name: str,
        max_frame_bytes: int,
        clock_ms: Callable[[], float],
    ) -> None:
        self._channel = channel
        self.listener_name = listener_name
        self.peer_host, self.peer_port = peer
        self.principal = ANONYMOUS
        # Closed, because the client has sent what no client of this broker should.
        self.is_misused = False
        # Name and version of the client's library, from ApiVersions.
        self.software = UNKNOWN_SOFTWARE
        self.frames = FrameBuffer(max_frame_bytes)
        self.outbox = Outbox(channel)
        self.last_active_ms = clock_ms()
        self._clock_ms = clock_ms
        self._loop = loop
        self._watcher = watcher(loop)
        self._fd = channel.fileno()
        self._owner = owner
        self._process = owner.process
        self._memory = owner.request_memory
        self._claimed_bytes = 0
        # Of the frame that is being served in turns; it has left `frames`, but is not let go.
        self._held_bytes = 0
        self._pending: Pending | None = None
        # What the request that is being served is known by, if its outcome comes late.
        self.place = 0
        self._behind: ServedBehind | None = None
        # Runs out when a throttled client may be read from again.
        self._muted: Timer | None = None
        self._state: int = _READING
        self._waits_for: int = WAIT_FOR_NOTHING
        self._watch_for(WAIT_TO_READ)

    @property
    def state(self) -> ConnectionState:
        """What it does or waits for."""
        return ConnectionState(self._state)

    @property
    def closed(self) -> bool:
        """Whether it is gone."""
        return self._state == _CLOSED

    @property
    def is_busy(self) -> bool:
        """Whether a request is in progress, an answer unsent, or the client kept from sending."""
        return self._state != _READING

    @property
    def waits_for_client(self) -> bool:
        """Whether it is the client's turn, to send or to take its answer: silent, it is idle."""
        state = self._state
        return state == _READING or state == _SENDING or state == _SENDING_PARKED

    # What the owner calls.

    def resume(self, outcome: Outcome, place: int = ANY_PLACE) -> None:
        """What the parked request, or that at a place, has come to; another Pending: it waits."""
        if self._state == _CLOSED:
            drop(outcome)
            return
        behind = self._behind
        if behind is not None and behind.is_behind(place):
            behind.set(place, outcome)
            return
        if not self._settle(outcome):
            if self._state != _CLOSED:
                self._look_behind_parked()
            return
        self._pending = None
        self._held_bytes = 0
        waits = behind is not None and self._settle_behind(behind)
        if self._state == _CLOSED:
            return
        self._move(_ANSWERED)
        if waits:
            self._move(_PARK)
        self.last_active_ms = self._clock_ms()
        self._go_on(has_more=True)

    def _settle(self, outcome: Outcome) -> bool:
        """Do what a parked request has come to; False if it waits on, or has ended everything."""
        if isinstance(outcome, Encoded):
            self.outbox.put(outcome)
        elif isinstance(outcome, Throttled):
            self._throttle(outcome)
        elif isinstance(outcome, Close):
            self._end(outcome)
            return False
        elif outcome is not None:
            self._park(outcome)
            return False
        return True

    def _settle_behind(self, behind: ServedBehind) -> bool:
        """Do what the requests behind it have come to; whether one waits, which is parked now."""
        while behind:
            if not self._settle(behind.pop()):
                return True
        self._behind = None
        return False

    def close(self, reason: str) -> None:
        """Close the socket; what is parked is dropped, what is unsent is lost."""
        if self._state == _CLOSED:
            return
        self._move(_CLOSE)
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
        if self._behind is not None:
            self._behind.cancel()
            self._behind = None
        if self._muted is not None:
            self._muted.cancel()
            self._muted = None
        self.outbox.clear()
        self.frames.clear()
        self._held_bytes = 0
        if self._memory is not None:
            self._settle_memory(self._memory)
        self._channel.close()
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
            count = self._channel.receive_into(room)
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
        else:
            self._look_behind_parked()

    def _pump(self) -> None:
        """Serve the whole requests that have come, then send what they were answered."""
        if self._state == _READING or self._state == _READY:
            self._move(_TURN)
            self._go_on(self._serve())

    def _serve(self) -> bool:
        """Serve requests, as many as is fair; whether there may be more."""
        frames, process, outbox = self.frames, self._process, self.outbox
        try:
            for _ in range(FAIR_REQUESTS):
                frame = frames.next_frame()
                if frame is None:
                    return False
                outcome = process(self, frame)
                if self._state != _SERVING:  # it was closed by what it asked for
                    drop(outcome)
                    return False
                if isinstance(outcome, Encoded):
                    outbox.put(outcome)
                    if outbox.unsent_bytes > GATHER_BYTES:
                        return True
                elif isinstance(outcome, Throttled):
                    self._throttle(outcome)
                    return True
                elif isinstance(outcome, Close):
                    self._end(outcome)
                    return False
                elif outcome is not None:
                    self._park(outcome)
                    self._move(_PARK)
                    return True
        except ProtocolError as error:
            self._end(_misuse(error))
        except BaseException:
            self.close("a request failed")
            raise
        return True

    def _park(self, pending: Pending) -> None:
        self._pending = pending
        self._held_bytes = 0
        if isinstance(pending, InTurns) and pending.frame_bytes > FIRST_BYTES:
            self._held_bytes = pending.frame_bytes

    def _throttle(self, throttled: Throttled) -> None:
        if throttled.answer is not None:
            self.outbox.put(throttled.answer)
        if self._muted is not None:  # by an answer that was due at the same time
            self._muted.cancel()
        self._muted = self._owner.call_later(throttled.mute_ms, self._unmute)

    def _unmute(self) -> None:
        self._muted = None
        if self._state == _MUTED:
            self._move(_UNMUTE)
            self.last_active_ms = self._clock_ms()
            self._go_on(has_more=True)

    def _go_on(self, has_more: bool) -> None:
        """After requests were served or answered: send, then wait for what is next."""
        if self._memory is not None:
            self._settle_memory(self._memory, may_take=not self.outbox and self._muted is None)
        if self.outbox:
            self._flush()
            if self._memory is not None and self._muted is None:
                self._settle_memory(self._memory)
        if self._state == _SERVING:
            if self._muted is not None:
                self._move(_MUTE)
            elif has_more and self.frames.has_frame():
                self._move(_LEFT)
                self._loop.call_soon(self._pump)
            else:
                self._move(_SERVED)
        elif self._state == _PARKED:
            self._look_behind_parked()

    def _look_behind_parked(self) -> None:
        """A parked long poll gives way to another kind of request; one frame is read ahead."""
        if self._memory is not None:
            self._settle_memory(self._memory)
        pending = self._pending
        if pending is not None:
            if pending.has_acted:
                self._serve_behind()
            behind = self.frames.peek_api_key()
            if behind is not None and behind != _FETCH:
                pending.give_way()
        if self._state == _PARKED and self.frames.has_frame():
            self._move(_BEHIND)

    def _serve_behind(self) -> None:
        """Serve the produces that have come behind one that only waits to be answered."""
        while self._may_serve_behind() and self.frames.has_frame():
            if self._behind is None:
                self._behind = ServedBehind(self.place)
            self.place = place = self.place + 1
            self._behind.add(_BEING_SERVED)
            # Meanwhile the parked one may be answered, and this one take its place.
            self.resume(self._serve_one(), place)

    def _serve_one(self) -> Outcome:
        """What the next frame comes to: a wrong one to an end, when all before it are answered."""
        try:
            frame = self.frames.next_frame()
            return None if frame is None else self._process(self, frame)
        except ProtocolError as error:
            return _misuse(error)
        except BaseException:
            self.close("a request failed")
            raise

    def _may_serve_behind(self) -> bool:
        pending, behind, frames = self._pending, self._behind, self.frames
        return (
            self._state == _PARKED
            and self._memory is None
            and pending is not None
            and pending.has_acted
            and (behind is None or behind.lets_serve())
            and frames.peek_api_key() == _PRODUCE
            and frames.begun_bytes() <= BEHIND_FRAME_BYTES
        )

    def _settle_memory(self, memory: RequestMemory, may_take: bool = True) -> None:
        """Hold as much as the frame that waits or has begun needs; without it, stop reading.

        So it is with the frame that is being served in turns, which is older and always let in.
        While it does not read anyway nothing is taken. What is not needed any more is given back
        before the answer is sent: its client may have the next request ready.
        """
        size = self.frames.begun_bytes()
        # Frames up to the size that every connection's buffer has need no memory of their own.
        wanted = self._held_bytes + (size if size > FIRST_BYTES else 0)
        more = wanted - self._claimed_bytes
        if more > 0:
            if not may_take or (self._state != _SERVING and self._state != _PARKED):
                return
            if not memory.take(self, more):
                self._move(_LACK)
                return
        else:
            memory.forget(self)
            if self._state == _PARKED_SHORT:  # the parked request has given back enough for it
                self._move(_GRANTED)
        self._claimed_bytes = wanted
        if more < 0:
            self.shrink()
            memory.give_back(-more)

    def memory_granted(self, size: int) -> None:
        """The frame that has begun may come."""
        self._claimed_bytes += size
        self._move(_GRANTED)

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
        elif self._state != _SERVING:
            self._move(_SENT)

    def _wait_to_send(self) -> None:
        """Go on when the socket takes more, or when what is to be sent has been read."""
        cold = self.outbox.cold
        if cold is None:
            self._move(_BLOCKED)
        else:
            self._move(_COLD)
            self._owner.read_ahead.read(*cold, self._warmed)

    def _warmed(self) -> None:
        if self._state != _CLOSED:
            self.outbox.warmed()
            self._writable()

    def _writable(self) -> None:
        self.last_active_ms = self._clock_ms()
        self._flush()
        if self._state == _SERVING:
            self._go_on(self._muted is not None or self._serve())
        elif self._state == _PARKED:
            self._look_behind_parked()

    def _end(self, close: Close) -> None:
        """Close, after the answers before it and a last word, for which nobody waits."""
        if close.last:
            self.outbox.put_bytes(close.last)
        if self.outbox and self.outbox.cold is None:
            with suppress(OSError):
                self.outbox.flush()
        self.is_misused = close.is_misuse
        self.close(close.reason)

    def _move(self, event: int) -> None:
        """Go to the state that the event leads to, and have the socket watched as that wants."""
        state = NEXT[self._state * EVENT_COUNT + event]
        if state == IMPOSSIBLE:
            next_state(self._state, event)  # raises
        self._state = state
        wants = WANTS[state]
        if wants != self._waits_for and wants != AS_IT_WAS:
            self._watch_for(wants)

    def _watch_for(self, wants: int) -> None:
        waited, self._waits_for = self._waits_for, wants
        if waited == WAIT_TO_READ:
            self._watcher.unwatch(self._fd)
        elif waited == WAIT_TO_WRITE:
            self._watcher.unwatch_writable(self._fd)
        if wants == WAIT_TO_READ:
            self._watcher.watch(self._fd, self._readable)
        elif wants == WAIT_TO_WRITE:
            self._watcher.watch_writable(self._fd, self._writable)


def _misuse(error: ProtocolError) -> Close:
    return Close(f"the client sent {error}", is_misuse=True)


def _gone(error: OSError) -> str:
    """Why a socket failed, in the words of somebody who reads logs."""
    if error.errno in _GONE:
        return "the client broke the connection"
    return f"the socket failed: {error.strerror or error}"
