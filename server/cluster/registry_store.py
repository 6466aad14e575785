"""Which store keeps the registry: the one place that chooses, by the broker's settings.

Without `zookeeper.connect` the broker keeps the tree itself, in a journal in its first data
directory, or joins the tree that brokers of its process share. With it Apache ZooKeeper keeps it;
that store is to come, so the broker says so before it touches anything.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Clock
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME, Ensemble
from barnabas.server.settings.config import BrokerConfig

if TYPE_CHECKING:
    from barnabas.storage.manager.disk_work import Worker


class RegistryStore:
    """An open store: this broker's session, and the tree behind it if that is its own."""

    def __init__(self, ensemble: Ensemble, *, is_shared: bool) -> None:
        self._ensemble = ensemble
        self._is_shared = is_shared
        self.session = ensemble.connect()

    def expire_sessions(self) -> None:
        """End the sessions of other brokers that have been silent for their timeout."""
        self._ensemble.expire_sessions()

    def abandon(self) -> None:
        """End as a killed process does: who shares the tree waits for the session's timeout."""
        self.session.abandon()

    def close(self) -> None:
        """Close the tree if it is this broker's own; whoever shared it keeps it."""
        if not self._is_shared:
            self._ensemble.close()


Opener = Callable[[Clock, "Worker"], RegistryStore]
"""Opens the chosen store; the worker does what waits for a disk.

Raises JournalCorrupt, OSError, ZnodeError.
"""


def choose_store(config: BrokerConfig, shared: Ensemble | None) -> Opener:
    """How to open the store that the settings ask for; `shared` is the process' own tree, if any.

    Raises StartFailed for one that is not supported.
    """
    if config.zookeeper_connect:
        raise StartFailed(
            "Apache ZooKeeper is not supported yet; leave `zookeeper.connect` empty "
            "and the broker keeps its registry itself"
        )
    if shared is not None:
        return lambda clock, worker: RegistryStore(shared, is_shared=True)
    journal, syncs = Path(config.data_dirs[0]) / JOURNAL_NAME, config.barnabas_registry_sync

    def open_embedded(clock: Clock, worker: "Worker") -> RegistryStore:
        ensemble = Ensemble(
            clock.now_ms, journal, worker=worker if syncs else None, rewriter=worker,
            monotonic_ms=clock.monotonic_ms,
        )  # fmt: skip
        return RegistryStore(ensemble, is_shared=False)

    return open_embedded
