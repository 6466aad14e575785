"""`--wait`: looking at a cluster until it is well, or the time is over."""

import time
from collections.abc import Callable
from typing import TypeVar

from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import Failure

LOOK_S = 0.5
Found = TypeVar("Found")


def once_well(
    bootstrap: str, client_settings: tuple[str, ...], wait_s: float,
    look: Callable[[Cluster], Found], is_well: Callable[[Found], bool],
) -> Found:  # fmt: skip
    """What was found when all was well, or at last.

    Each look has a connection of its own: the broker that one was made to may be the next to go,
    and there may be none yet. Raises what the last look failed with.
    """
    deadline_s = time.monotonic() + wait_s
    while True:
        try:
            with connected(bootstrap, client_settings) as cluster:
                found = look(cluster)
            if is_well(found) or time.monotonic() >= deadline_s:
                return found
        except Failure:
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(LOOK_S)
