"""The embedded store: one session with the tree of this process.

Reads never suspend. A write is done to the tree, and its watches have fired, by the time it
first suspends; it returns when it is on disk.

In process there is no connection to lose, so a session is alive until it is closed. `suspend`
and `resume` play a lost connection for tests and fault injection: while suspended, requests
raise ConnectionLoss and events wait; once the ensemble has expired the session its ephemerals
are gone, and `resume` tells LOST and begins a new session, as a ZooKeeper client does.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.server.registry.znodes.names import ROOT, require_valid
from barnabas.server.registry.znodes.store import (
    ANY_VERSION,
    ConnectionLoss,
    Create,
    Delete,
    Op,
    Result,
    SessionExpired,
    SessionListener,
    SessionState,
    SetData,
    Stat,
    Watch,
    WatchEvent,
    Znode,
    ZnodeError,
)

if TYPE_CHECKING:
    from barnabas.server.registry.znodes.ensemble import Ensemble

_log = logging.getLogger(__name__)


class EmbeddedStore:
    """One session of an `Ensemble`."""

    def __init__(self, ensemble: "Ensemble", timeout_ms: int) -> None:
        self._ensemble = ensemble
        self._timeout_ms = timeout_ms
        self._listeners: list[SessionListener] = []
        self._missed: list[tuple[Watch, WatchEvent]] = []
        self.deadline_ms: float | None = None
        self.state = SessionState.ESTABLISHED
        self.session_id = ensemble.begin_session(self)

    def on_session(self, listener: SessionListener) -> None:
        """Call `listener` at every later change of the session's state."""
        self._listeners.append(listener)

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
    ) -> str:
        """Make a znode and return its path."""
        ops: list[Op] = []
        if make_parents:
            ops += [Create(parent) for parent in self._missing_parents(path)]
        ops.append(Create(path, data, ephemeral, sequential))
        created = (await self._commit(ops))[-1]
        assert isinstance(created, str)
        return created

    async def get(self, path: str, watch: Watch | None = None) -> Znode:
        """Read a znode and watch its data."""
        self._require_connected(path)
        node = self._ensemble.tree.node(path)
        if watch is not None:
            self._ensemble.watch_data(path, self.session_id, watch)
        return Znode(node.data, node.stat())

    async def get_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Znode | None]:
        """Read many znodes and watch their data; None stands for a missing one."""
        self._require_connected(paths[0] if paths else ROOT)
        found: list[Znode | None] = []
        for path in paths:
            node = self._ensemble.tree.find(path)
            if node is not None and watch is not None:
                self._ensemble.watch_data(path, self.session_id, watch)
            found.append(None if node is None else Znode(node.data, node.stat()))
        return found

    async def exists_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Stat | None]:
        """Read many stats and watch each znode's data, or its creation when it is missing."""
        return [await self.exists(path, watch) for path in paths]

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """Read the stat and watch the znode's data, or its creation when it is missing."""
        self._require_connected(path)
        node = self._ensemble.tree.find(path)
        if watch is not None:
            self._ensemble.watch_data(path, self.session_id, watch)
        return None if node is None else node.stat()

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """List the names of the children and watch the list."""
        self._require_connected(path)
        names = self._ensemble.tree.children(path)
        if watch is not None:
            self._ensemble.watch_children(path, self.session_id, watch)
        return names

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        """Replace the data and return the new stat."""
        stat = (await self._commit([SetData(path, data, version)]))[0]
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a znode."""
        await self._commit([Delete(path, version)])

    async def multi(self, ops: Sequence[Op]) -> list[Result]:
        """Do all of the operations or none."""
        return await self._commit(ops)

    async def pipeline(
        self, transactions: Sequence[Sequence[Op]]
    ) -> list[list[Result] | ZnodeError]:
        """Do many transactions in order, each atomic by itself."""
        self._require_connected(ROOT)
        outcomes = self._ensemble.commit(self.session_id, transactions)
        if any(not isinstance(outcome, ZnodeError) for outcome in outcomes):
            await self._ensemble.settled(ROOT)
        return outcomes

    async def close(self) -> None:
        """End the session."""
        self.close_now()

    def close_now(self) -> None:
        """End the session; needs no event loop. One that is suspended goes on to its timeout."""
        if self.state is SessionState.CLOSED:
            return
        says_goodbye = self.state is SessionState.ESTABLISHED
        self._missed.clear()
        self._enter(SessionState.CLOSED)
        if says_goodbye and self._ensemble.is_live(self.session_id):
            self._ensemble.end_session(self.session_id)

    def suspend(self) -> None:
        """Lose the connection; the session goes on until its timeout."""
        if self.state is SessionState.ESTABLISHED:
            self.deadline_ms = self._ensemble.monotonic_ms() + self._timeout_ms
            self._enter(SessionState.SUSPENDED)

    def abandon(self) -> None:
        """Be killed: nobody here hears of anything, and the session goes on until its timeout."""
        self._listeners.clear()
        self.suspend()

    def resume(self) -> None:
        """Find the connection again: hear what was missed, or that the session is over."""
        if self.state is not SessionState.SUSPENDED:
            return
        self.deadline_ms = None
        if self._ensemble.is_live(self.session_id):
            self._enter(SessionState.ESTABLISHED)
            missed, self._missed = self._missed, []
            for watch, event in missed:
                self.notify(watch, event)
        else:
            self._begin_again()

    def ended(self) -> None:
        """Take note that the ensemble has ended this session."""
        if self.state is SessionState.ESTABLISHED:
            self._begin_again()

    def notify(self, watch: Watch, event: WatchEvent) -> None:
        """Hand an event to its watch, or keep it until the connection is back."""
        if self.state is SessionState.SUSPENDED:
            self._missed.append((watch, event))
            return
        try:
            watch(event)
        except Exception:
            _log.exception("a watch of %s failed", event.path)

    def _begin_again(self) -> None:
        self._missed.clear()
        self._enter(SessionState.LOST)
        self.session_id = self._ensemble.begin_session(self)
        self._enter(SessionState.ESTABLISHED)

    def _enter(self, state: SessionState) -> None:
        self.state = state
        for listener in self._listeners:
            listener(state, self.session_id)

    def _require_connected(self, path: str) -> None:
        if self.state is SessionState.SUSPENDED:
            raise ConnectionLoss(path)
        if self.state is not SessionState.ESTABLISHED:
            raise SessionExpired(path)

    async def _commit(self, ops: Sequence[Op]) -> list[Result]:
        path = ops[0].path if ops else ROOT
        self._require_connected(path)
        outcome = self._ensemble.commit(self.session_id, (ops,))[0]
        if isinstance(outcome, ZnodeError):
            raise outcome
        await self._ensemble.settled(path)
        return outcome

    def _missing_parents(self, path: str) -> list[str]:
        """Return the ancestors of `path` that do not exist, the uppermost first."""
        require_valid(path)
        nodes = self._ensemble.tree.nodes
        missing: list[str] = []
        parent = path.rpartition("/")[0]
        while parent and parent not in nodes:
            missing.append(parent)
            parent = parent.rpartition("/")[0]
        return missing[::-1]
