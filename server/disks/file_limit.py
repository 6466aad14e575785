"""How many files the process may have open, and whether that is enough.

A broker keeps few of its partitions' files open (`storage/disk/open_files.py`), whatever their
number: a low limit makes it open files again and again, and refuse connections, but it works.
"""

import resource

from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.disk.open_files import DEFAULT_CAPACITY
from barnabas.storage.log.flush import SEGMENTS_SYNCED_AT_ONCE

FILES_OF_A_SEGMENT = 3
FILES_OF_A_FLUSH = 2 * 4 * SEGMENTS_SYNCED_AT_ONCE
"""Two threads sync at a time."""
OTHERS = 64
"""Listeners, the registry, locks, pipes to children, whatever the libraries hold."""
USUAL_CONNECTIONS = 256
"""Where `max.connections` sets no bound."""
FEWEST_KEPT_OPEN = 16
_HIGHEST_LIMIT = 1 << 20


def limit() -> int:
    """The limit that is in force (RLIMIT_NOFILE, `ulimit -n`)."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _HIGHEST_LIMIT if soft == resource.RLIM_INFINITY else soft


def raise_limit() -> None:
    """Raise this process's limit as far as it may go itself, as a JVM does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _HIGHEST_LIMIT if hard == resource.RLIM_INFINITY else hard
    if soft not in (resource.RLIM_INFINITY, wanted) and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return  # it stays as it is, and `shortage` says so


def most_kept_open(open_files: int) -> int:
    """How many of the partitions' files to keep open under a limit."""
    return max(FEWEST_KEPT_OPEN, min(DEFAULT_CAPACITY, open_files // 2 - OTHERS))


def shortage(open_files: int, config: BrokerConfig, partitions: int) -> str | None:
    """One sentence if the limit is below what so many partitions and their clients will need."""
    connections = min(config.max_connections, USUAL_CONNECTIONS)
    files = min(FILES_OF_A_SEGMENT * partitions, DEFAULT_CAPACITY) + FILES_OF_A_FLUSH
    needed = files + connections + OTHERS
    if open_files >= needed:
        return None
    return (
        f"the limit of open files is {open_files} (RLIMIT_NOFILE, `ulimit -n`), below the {needed} "
        f"that {partitions} partitions and {connections} connections will need: raise it"
    )
