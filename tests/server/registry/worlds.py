"""Where contract tests get their sessions from: one `World` for each kind of store."""

from typing import Protocol

from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import SessionState, WatchEvent, ZnodeStore

FIRST_MS = 1_700_000_000_000


class World(Protocol):
    """One tree of znodes, and ways to reach it and to disturb its sessions."""

    async def connect(self) -> ZnodeStore:
        """Begin a session."""

    async def suspend(self, store: ZnodeStore) -> None:
        """Cut the connection of a session, and return when its owner has noticed."""

    async def resume(self, store: ZnodeStore) -> None:
        """Give a suspended session its connection back."""

    async def expire(self, store: ZnodeStore) -> None:
        """End a suspended session."""

    async def close(self) -> None:
        """End everything."""


class EmbeddedWorld:
    """Sessions with an ensemble in memory, whose time stands still unless told."""

    def __init__(self) -> None:
        self.now_ms = FIRST_MS
        self.ensemble = Ensemble(lambda: self.now_ms, monotonic_ms=lambda: self.now_ms)

    async def connect(self) -> ZnodeStore:
        return self.ensemble.connect(timeout_ms=6_000)

    async def suspend(self, store: ZnodeStore) -> None:
        _embedded(store).suspend()

    async def resume(self, store: ZnodeStore) -> None:
        _embedded(store).resume()

    async def expire(self, store: ZnodeStore) -> None:
        self.now_ms += 6_000
        self.ensemble.expire_sessions()

    async def close(self) -> None:
        self.ensemble.close()


class Heard:
    """A watch, or a session listener, that remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self.states: list[tuple[SessionState, int]] = []

    def watch(self, event: WatchEvent) -> None:
        self.events.append(event)

    def session(self, state: SessionState, session_id: int) -> None:
        self.states.append((state, session_id))

    def told(self) -> list[tuple[str, str]]:
        """Return the events as (kind, path)."""
        return [(event.kind.name, event.path) for event in self.events]


def _embedded(store: ZnodeStore) -> EmbeddedStore:
    assert isinstance(store, EmbeddedStore)
    return store
