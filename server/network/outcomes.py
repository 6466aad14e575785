"""What comes out of a request: `process` returns it, and the connection does it.

Encoded    an answer, to be sent
a Pending  the request is parked: what it comes to is given to `Connection.resume` later
Close      the connection ends
Throttled  an answer or none, and the connection is muted for a while
None       nothing is due: the next request may be served
"""

from typing import Protocol

from barnabas.wire.connection import Encoded


class Pending(Protocol):
    """A request that will be answered later; a long poll `give_way`s to another kind of request.

    `has_acted`: it has done all it does, and only its answer waits.
    """

    has_acted: bool

    def give_way(self) -> None: ...
    def cancel(self) -> None: ...


class InTurns:
    """A request that a task works on; as long as it reads its frame, so many bytes are kept."""

    __slots__ = ("frame_bytes", "has_acted")

    def __init__(self, frame_bytes: int) -> None:
        self.frame_bytes = frame_bytes
        self.has_acted = False

    def give_way(self) -> None:
        """A task takes the time it takes."""

    def cancel(self) -> None:
        """The client is gone; what the task has begun, it may finish."""


class Close:
    """The connection ends, for a reason that the log tells; `last` is sent before, if it can be.

    `is_misuse`: the client has sent what no client of this broker should.
    """

    __slots__ = ("is_misuse", "last", "reason")

    def __init__(self, reason: str, last: bytes = b"", is_misuse: bool = False) -> None:
        self.reason = reason
        self.last = last
        self.is_misuse = is_misuse


class Throttled:
    """An answer, if there is one, sent at once; then nothing is read for `mute_ms` (KIP-219)."""

    __slots__ = ("answer", "mute_ms")

    def __init__(self, answer: Encoded | None, mute_ms: float) -> None:
        self.answer = answer
        self.mute_ms = mute_ms


Outcome = Encoded | Throttled | Pending | Close | None
