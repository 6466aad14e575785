"""Says on the standard error when brokers that a client talks to go away, and when they are back.

A broker is away when the connection that there was is gone and no new one can be made: the
look at the connections costs nothing, and only for lost ones an address is tried. One that hangs
keeps its connections, and leaves a request without its answer.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from barnabas.server.cli.answering import why_unreachable
from barnabas.server.cli.output import note

LOOK_S = 0.5
TRY_S = 0.5
SILENT_S = 5.0


class Watch:
    """The brokers that a client of kafka-python was connected to, and which of them are away."""

    def __init__(self, manager: Any, say: Callable[[str], None] = note) -> None:
        self._manager, self._say = manager, say
        self._met: set[object] = set()
        self._away: set[object] = set()
        self._silent: set[object] = set()

    @property
    def is_cut_off(self) -> bool:
        """Whether a broker that this client needs is away."""
        return bool(self._away)

    def look(self) -> None:
        """See who is connected; say what has changed."""
        connected = {
            node_id for node_id, each in list(self._manager._conns.items()) if each.connected
        }
        known = {each.node_id: each for each in self._manager.cluster.brokers()}
        for node_id in connected & self._away:
            self._say(f"{_name(known.get(node_id), node_id)} is back")
        self._away -= connected
        self._met = ((self._met | connected) & known.keys()) - self._away
        self._away &= known.keys()
        failing = set(self._manager._backoff) & known.keys() - self._away  # could not be connected
        for node_id in (self._met | failing) - connected:
            broker = known[node_id]
            if reason := why_unreachable((broker.host, broker.port), TRY_S):
                self._away.add(node_id)
                self._say(f"{_name(broker, node_id)} is away: {reason}; trying again")

    def listen(self, patience_s: float) -> None:
        """Say who has left a request without an answer for so long, and who answers again.

        Only for who has just taken all answers that there were.
        """
        known = {each.node_id: each for each in self._manager.cluster.brokers()}
        late = {
            node_id
            for node_id, each in list(self._manager._conns.items())
            if node_id in known and each.connected and _waits_for_s(each) > patience_s
        }
        for node_id in late - self._silent:
            broker = _name(known[node_id], node_id)
            self._say(f"{broker} has not answered for {patience_s:g} s; waiting")
        for node_id in self._silent - late - self._away:
            self._say(f"{_name(known.get(node_id), node_id)} answers again")
        self._silent = late


def _waits_for_s(connection: Any) -> float:
    """How long its oldest request has been under way; another thread may take the answer."""
    try:
        sent_s: float = connection.in_flight_requests[0][2]
    except IndexError:
        return 0.0
    return time.monotonic() - sent_s


def _name(broker: Any, node_id: object) -> str:
    return f"broker {node_id} at {broker.host}:{broker.port}" if broker else f"broker {node_id}"


@contextmanager
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Look twice a second, in a thread, while the body runs."""
    stopping = threading.Event()

    def run() -> None:
        while not stopping.wait(LOOK_S):
            look()

    thread = threading.Thread(target=run, name="look", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
