"""A registry that is some way off, as Apache ZooKeeper is: the embedded one, behind delays.

Of a session's requests none overtakes another, nor do its answers and events. A connection that
ends loses what is under way on it: nobody knows whether that was done. Events are made good when
the session goes on, as a client of ZooKeeper sets its watches again.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import SESSION_TIMEOUT_MS, Ensemble
from barnabas.server.registry.znodes.names import ROOT
from barnabas.server.registry.znodes.store import (
    ANY_VERSION,
    ConnectionLoss,
    Op,
    Result,
    SessionState,
    Stat,
    Watch,
    WatchEvent,
    Znode,
    ZnodeError,
)

from .network import Network
from .wires import INSTANT_S

T = TypeVar("T")


class DistantEnsemble(Ensemble):
    """The servers' side."""

    def __init__(self, network: Network, chance: random.Random, now_ms: Callable[[], int]) -> None:
        super().__init__(now_ms, monotonic_ms=lambda: network.loop.time() * 1000)
        self.network = network
        self.chance = chance

    def connect(self, timeout_ms: int = SESSION_TIMEOUT_MS) -> EmbeddedStore:
        return DistantStore(self, timeout_ms, self.network, self.chance)


class DistantStore(EmbeddedStore):
    """A client, and its way there and back."""

    def __init__(
        self, ensemble: Ensemble, timeout_ms: int, network: Network, chance: random.Random
    ) -> None:
        self._network = network
        self._chance = chance
        self._connection = 0
        self._there_s = self._back_s = 0.0
        self.late_s = 0.0
        """How much later than others it hears of anything."""
        super().__init__(ensemble, timeout_ms)

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
    ) -> str:
        def do() -> Awaitable[str]:
            return EmbeddedStore.create(
                self, path, data, ephemeral=ephemeral, sequential=sequential,
                make_parents=make_parents,
            )  # fmt: skip

        return await self._ask(path, do)

    async def get(self, path: str, watch: Watch | None = None) -> Znode:
        return await self._ask(path, lambda: EmbeddedStore.get(self, path, watch))

    async def get_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Znode | None]:
        return await self._ask(ROOT, lambda: EmbeddedStore.get_many(self, paths, watch))

    async def exists_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Stat | None]:
        async def do() -> list[Stat | None]:
            return [await EmbeddedStore.exists(self, path, watch) for path in paths]

        return await self._ask(ROOT, do)

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        return await self._ask(path, lambda: EmbeddedStore.exists(self, path, watch))

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        return await self._ask(path, lambda: EmbeddedStore.children(self, path, watch))

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        return await self._ask(path, lambda: EmbeddedStore.set(self, path, data, version))

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._ask(path, lambda: EmbeddedStore.delete(self, path, version))

    async def multi(self, ops: Sequence[Op]) -> list[Result]:
        return await self._ask(ROOT, lambda: EmbeddedStore.multi(self, ops))

    async def pipeline(
        self, transactions: Sequence[Sequence[Op]]
    ) -> list[list[Result] | ZnodeError]:
        return await self._ask(ROOT, lambda: EmbeddedStore.pipeline(self, transactions))

    def notify(self, watch: Watch, event: WatchEvent) -> None:
        """On its way, behind the answers that were before."""
        session_id = self.session_id

        def arrived() -> None:
            if self.session_id == session_id and self.state is not SessionState.CLOSED:
                EmbeddedStore.notify(self, watch, event)

        self._network.loop.call_at(self._arrives_s(), arrived)

    def _enter(self, state: SessionState) -> None:
        self._connection += 1
        super()._enter(state)

    async def _ask(self, path: str, do: Callable[[], Awaitable[T]]) -> T:
        self._require_connected(path)
        connection, loop = self._connection, self._network.loop
        self._there_s = max(self._there_s + INSTANT_S, loop.time() + self._delay_s())
        await asyncio.sleep(self._there_s - loop.time())
        self._require_same(connection, path)
        try:
            return await do()
        finally:
            await asyncio.sleep(self._arrives_s() - loop.time())
            self._require_same(connection, path)

    def _require_same(self, connection: int, path: str) -> None:
        if self._connection != connection:
            raise ConnectionLoss(path)

    def _arrives_s(self) -> float:
        now_s = self._network.loop.time()
        self._back_s = max(self._back_s + INSTANT_S, now_s + self.late_s + self._delay_s())
        return self._back_s

    def _delay_s(self) -> float:
        return self._network.delay_s(self._chance)
