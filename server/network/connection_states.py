"""The states of a connection and every way from one to another.

Of each state it is told what the socket is watched for (`WANTS`): a connection that sends does
not read, so a client that does not read its answers is not served. A parked request leaves room
for one frame behind it. `NEXT` is what a connection asks; it is `TRANSITIONS` as a row of bytes,
because a small request asks twice.
"""

from enum import IntEnum
from typing import Final


class ConnectionState(IntEnum):
    """What a connection does or waits for."""

    READING = 0
    READY = 1
    SERVING = 2
    SHORT = 3
    PARKED = 4
    PARKED_FULL = 5
    PARKED_SHORT = 6
    SENDING = 7
    SENDING_PARKED = 8
    WARMING = 9
    WARMING_PARKED = 10
    MUTED = 11
    CLOSED = 12


class ConnectionEvent(IntEnum):
    """What moves a connection."""

    TURN = 0
    SERVED = 1
    LEFT = 2
    PARK = 3
    ANSWERED = 4
    BEHIND = 5
    BLOCKED = 6
    COLD = 7
    SENT = 8
    LACK = 9
    GRANTED = 10
    MUTE = 11
    UNMUTE = 12
    CLOSE = 13


STATES: Final = {
    ConnectionState.READING: "waits for a request's bytes",
    ConnectionState.READY: "whole requests wait for the next turn",
    ConnectionState.SERVING: "requests are handled; answers are put in the outbox",
    ConnectionState.SHORT: "waits for memory, to read a large request",
    ConnectionState.PARKED: "a request is answered later; the next is read",
    ConnectionState.PARKED_FULL: "a request is answered later; the next has come",
    ConnectionState.PARKED_SHORT: "a request is answered later; the next waits for memory",
    ConnectionState.SENDING: "answers wait for the socket",
    ConnectionState.SENDING_PARKED: "answers wait for the socket, and a request is parked",
    ConnectionState.WARMING: "answers wait for a disk",
    ConnectionState.WARMING_PARKED: "answers wait for a disk, and a request is parked",
    ConnectionState.MUTED: "its client is throttled",
    ConnectionState.CLOSED: "gone",
}

EVENTS: Final = {
    ConnectionEvent.TURN: "bytes have come, or whole requests have their turn",
    ConnectionEvent.SERVED: "every whole request is answered",
    ConnectionEvent.LEFT: "whole requests are left, and others have their turn",
    ConnectionEvent.PARK: "a request will be answered later",
    ConnectionEvent.ANSWERED: "what a parked request comes to is known",
    ConnectionEvent.BEHIND: "a whole request has come behind the parked one",
    ConnectionEvent.BLOCKED: "the socket takes no more, or it is the turn of others",
    ConnectionEvent.COLD: "what is sent next is on a disk only",
    ConnectionEvent.SENT: "all answers are sent",
    ConnectionEvent.LACK: "there is no memory for the request that has begun",
    ConnectionEvent.GRANTED: "there is memory",
    ConnectionEvent.MUTE: "the request's client is throttled",
    ConnectionEvent.UNMUTE: "the throttle time has passed",
    ConnectionEvent.CLOSE: "client, broker, a bad frame or the socket ends it",
}

_S, _E = ConnectionState, ConnectionEvent

TRANSITIONS: Final[dict[tuple[ConnectionState, ConnectionEvent], ConnectionState]] = {
    (_S.READING, _E.TURN): _S.SERVING,
    (_S.READY, _E.TURN): _S.SERVING,
    (_S.SERVING, _E.SERVED): _S.READING,
    (_S.SERVING, _E.LEFT): _S.READY,
    (_S.SERVING, _E.PARK): _S.PARKED,
    (_S.SENDING, _E.PARK): _S.SENDING_PARKED,
    (_S.WARMING, _E.PARK): _S.WARMING_PARKED,
    (_S.PARKED, _E.ANSWERED): _S.SERVING,
    (_S.PARKED_FULL, _E.ANSWERED): _S.SERVING,
    (_S.PARKED_SHORT, _E.ANSWERED): _S.SERVING,
    (_S.SENDING_PARKED, _E.ANSWERED): _S.SENDING,
    (_S.WARMING_PARKED, _E.ANSWERED): _S.WARMING,
    (_S.PARKED, _E.BEHIND): _S.PARKED_FULL,
    (_S.SERVING, _E.BLOCKED): _S.SENDING,
    (_S.SENDING, _E.BLOCKED): _S.SENDING,
    (_S.WARMING, _E.BLOCKED): _S.SENDING,
    (_S.PARKED, _E.BLOCKED): _S.SENDING_PARKED,
    (_S.SENDING_PARKED, _E.BLOCKED): _S.SENDING_PARKED,
    (_S.WARMING_PARKED, _E.BLOCKED): _S.SENDING_PARKED,
    (_S.SERVING, _E.COLD): _S.WARMING,
    (_S.SENDING, _E.COLD): _S.WARMING,
    (_S.WARMING, _E.COLD): _S.WARMING,
    (_S.PARKED, _E.COLD): _S.WARMING_PARKED,
    (_S.SENDING_PARKED, _E.COLD): _S.WARMING_PARKED,
    (_S.WARMING_PARKED, _E.COLD): _S.WARMING_PARKED,
    (_S.SERVING, _E.SENT): _S.SERVING,
    (_S.SENDING, _E.SENT): _S.SERVING,
    (_S.WARMING, _E.SENT): _S.SERVING,
    (_S.PARKED, _E.SENT): _S.PARKED,
    (_S.SENDING_PARKED, _E.SENT): _S.PARKED,
    (_S.WARMING_PARKED, _E.SENT): _S.PARKED,
    (_S.SERVING, _E.LACK): _S.SHORT,
    (_S.PARKED, _E.LACK): _S.PARKED_SHORT,
    (_S.SHORT, _E.GRANTED): _S.READING,
    (_S.PARKED_SHORT, _E.GRANTED): _S.PARKED,
    # It asked for memory, and was answered meanwhile: it reads when that is sent.
    (_S.SENDING, _E.GRANTED): _S.SENDING,
    (_S.WARMING, _E.GRANTED): _S.WARMING,
    (_S.MUTED, _E.GRANTED): _S.MUTED,
    (_S.SERVING, _E.MUTE): _S.MUTED,
    (_S.MUTED, _E.UNMUTE): _S.SERVING,
    **{(state, _E.CLOSE): _S.CLOSED for state in _S if state is not _S.CLOSED},
}

# What the socket is watched for. While requests are served nobody looks: it stays as it was.
WAIT_FOR_NOTHING: Final = 0
WAIT_TO_READ: Final = 1
WAIT_TO_WRITE: Final = 2
AS_IT_WAS: Final = 3

_WANTS: Final = {
    _S.READING: WAIT_TO_READ,
    _S.PARKED: WAIT_TO_READ,
    _S.SENDING: WAIT_TO_WRITE,
    _S.SENDING_PARKED: WAIT_TO_WRITE,
    _S.SERVING: AS_IT_WAS,
}
WANTS: Final[bytes] = bytes(_WANTS.get(state, WAIT_FOR_NOTHING) for state in _S)

IMPOSSIBLE: Final = 255
EVENT_COUNT: Final = 14
NEXT: Final[bytes] = bytes(
    TRANSITIONS.get((state, event), IMPOSSIBLE) for state in _S for event in _E
)


class ImpossibleTransition(Exception):
    """An event that the state does not know: a bug in whoever caused it."""


def next_state(state: int, event: int) -> int:
    """Where the event leads. Raises ImpossibleTransition."""
    after = NEXT[state * EVENT_COUNT + event]
    if after == IMPOSSIBLE:
        known, cause = ConnectionState(state), ConnectionEvent(event)
        raise ImpossibleTransition(f"{cause.name} in state {known.name}")
    return after
