"""Which store keeps the registry: the one place that chooses, by the broker's settings.

Without `zookeeper.connect` the broker keeps the tree itself, in a journal in one of its data
directories (`registry_place`), or joins the tree that brokers of its process share. With it Apache
ZooKeeper keeps it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from barnabas.server.cluster.registry_place import journal_path
from barnabas.server.core.clock import Clock
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry.brokers import Brokers
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import ZnodeStore
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.manager.data_directory import DataDirectory

if TYPE_CHECKING:
    from barnabas.storage.manager.disk_work import Worker


class RegistryStore(Protocol):
    """An open store: this broker's session, and what is behind it."""

    @property
    def session(self) -> ZnodeStore:
        """The session, until the broker ends."""

    def expire_sessions(self) -> None:
        """End the sessions of other brokers that have been silent for their timeout."""

    def abandon(self) -> None:
        """End as a killed process does: the others wait for the session's timeout."""

    def close(self) -> None:
        """Give up what is still held, after the session's end."""


class EmbeddedRegistry:
    """A session with a tree of this process, and the tree if that is its own."""

    def __init__(self, ensemble: Ensemble, timeout_ms: int, *, is_shared: bool) -> None:
        self._ensemble = ensemble
        self._is_shared = is_shared
        self.session = ensemble.connect(timeout_ms)

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


Opener = Callable[[Clock, "Worker"], Awaitable[RegistryStore]]
"""Opens the chosen store; the worker does what waits for a disk.

Raises StartFailed, JournalCorrupt, OSError, ZnodeError.
"""


def choose_store(
    config: BrokerConfig, directories: Sequence[DataDirectory], shared: Ensemble | None
) -> Opener:
    """How to open the store that the settings ask for; `shared` is the process' own tree.

    The directories are locked.
    """
    syncs, timeout_ms = config.barnabas_registry_sync, config.zookeeper_session_timeout_ms

    async def join_shared(clock: Clock, worker: "Worker") -> RegistryStore:
        assert shared is not None
        return EmbeddedRegistry(shared, timeout_ms, is_shared=True)

    async def open_embedded(clock: Clock, worker: "Worker") -> RegistryStore:
        ensemble = Ensemble(
            clock.now_ms, journal_path(directories), worker=worker if syncs else None,
            rewriter=worker, monotonic_ms=clock.monotonic_ms,
        )  # fmt: skip
        return EmbeddedRegistry(ensemble, timeout_ms, is_shared=False)

    async def open_zookeeper(clock: Clock, worker: "Worker") -> RegistryStore:
        from barnabas.server.cluster import zookeeper_registry

        return await zookeeper_registry.open_zookeeper(config)

    if config.zookeeper_connect:
        return open_zookeeper
    return open_embedded if shared is None else join_shared


def registry_of(config: BrokerConfig, store: RegistryStore) -> Registry:
    """Kafka's nouns over an open store, in bodies that the oldest broker of the cluster reads.

    A tree of one's own is read by nobody older.
    """
    if not config.zookeeper_connect:
        return Registry(store.session)
    return Registry(store.session, config.inter_broker_protocol)


async def own_broker_id(config: BrokerConfig, noted: int | None, brokers: Brokers) -> int:
    """The configured id, else the one `noted` in the data directories, else one nobody has had.

    The only broker of a tree of one's own is 0. Raises StartFailed, ZnodeError.
    """
    if config.broker_id >= 0:
        return config.broker_id
    if noted is not None:
        return noted
    if not config.zookeeper_connect:
        return 0
    if not config.broker_id_generation_enable:
        raise StartFailed("set `broker.id`: broker.id.generation.enable is false")
    return await brokers.next_id(config.reserved_broker_max_id)
