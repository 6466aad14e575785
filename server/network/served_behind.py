"""Produces that are served behind one whose answer waits for replicas.

A client with several produces in flight sends them one behind the other. If each were appended
only when the one before it is acknowledged, followers would fetch a batch at a time: with 16 KB
batches that is ten times the work. One that `has_acted` is in the log, so the next may be appended
behind it, as if it had come a little later; answers leave in request order all the same.

    parked          the oldest, of whose outcome the connection waits
    served behind   what the others have come to so far: an answer, or `Pending` until it is there

Apache Kafka serves one request of a connection at a time (`SocketServer` mutes its channel).
"""

from collections import deque
from typing import Final

from barnabas.server.network.outcomes import Close, Outcome, Throttled
from barnabas.wire.connection import Encoded

ANY_PLACE: Final = -1
MOST_BEHIND: Final = 16
BEHIND_FRAME_BYTES: Final = 64 * 1024
"""Larger frames wait for their turn: they are worth a fetch each, and hold their bytes."""


class ServedBehind:
    """What the requests behind the parked one have come to, oldest first.

    A request is known by its place: the parked one's, and one more for each behind it.
    """

    __slots__ = ("_outcomes", "_parked_place")

    def __init__(self, parked_place: int) -> None:
        self._parked_place = parked_place
        self._outcomes: deque[Outcome] = deque()

    def __len__(self) -> int:
        return len(self._outcomes)

    def is_behind(self, place: int) -> bool:
        """Whether the request at that place is one of these."""
        return place > self._parked_place

    def lets_serve(self) -> bool:
        """Whether the next may be served: there is room, and the last has done all it does."""
        outcomes = self._outcomes
        return len(outcomes) < MOST_BEHIND and (not outcomes or _has_acted(outcomes[-1]))

    def add(self, outcome: Outcome) -> None:
        """Of the next place."""
        self._outcomes.append(outcome)

    def set(self, place: int, outcome: Outcome) -> None:
        """What the request at that place has come to."""
        self._outcomes[place - self._parked_place - 1] = outcome

    def pop(self) -> Outcome:
        """What the oldest has come to; it takes the place of the parked one."""
        self._parked_place += 1
        return self._outcomes.popleft()

    def cancel(self) -> None:
        """The client is gone."""
        for outcome in self._outcomes:
            drop(outcome)


def drop(outcome: Outcome) -> None:
    """It comes too late: the connection is gone."""
    if outcome is not None and not isinstance(outcome, (Encoded, Throttled, Close)):
        outcome.cancel()


def _has_acted(outcome: Outcome) -> bool:
    """Whether a request that came to that has done all it does, and the connection goes on."""
    if outcome is None or isinstance(outcome, Encoded):
        return True
    return not isinstance(outcome, (Throttled, Close)) and outcome.has_acted
