"""The store that Apache ZooKeeper keeps: one session with its servers.

    store = ZookeeperStore(servers, chroot="/kafka", acl_of=kafka_acl)
    await store.connect(timeout_ms=18_000)

Many requests are under way at a time, up to `most_in_flight`, and ZooKeeper answers them in order:
`get_many` and `pipeline` cost about one round trip for each window of that many.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from barnabas.server.registry.znodes import zookeeper_wire as wire
from barnabas.server.registry.znodes.names import ROOT, require_valid
from barnabas.server.registry.znodes.store import (
    ANY_VERSION,
    BadArguments,
    ConnectionLoss,
    Create,
    Delete,
    NodeExists,
    NoNode,
    Op,
    Result,
    SessionListener,
    SessionState,
    SetData,
    Stat,
    Watch,
    Znode,
    ZnodeError,
)
from barnabas.server.registry.znodes.zookeeper_session import ZookeeperServers, ZookeeperSession
from barnabas.server.registry.znodes.zookeeper_watches import ClientWatches
from barnabas.server.registry.znodes.zookeeper_wire import Acl, Chroot, Request


def open_to_all(path: str) -> Acl:
    """Any client may do anything with any znode: ZooKeeper's default."""
    return wire.OPEN


class ZookeeperStore:
    """One session with ZooKeeper, and the next when that is lost."""

    def __init__(
        self,
        servers: ZookeeperServers,
        chroot: str = "",
        acl_of: Callable[[str], Acl] = open_to_all,
    ) -> None:
        """`chroot` is the path of the store's root, "" for ZooKeeper's own; `acl_of` is asked for
        every path that is made."""
        self._chroot_path = chroot
        self._chroot = Chroot(chroot)
        self._acl_of = acl_of
        self._listeners: list[SessionListener] = []
        self._watches = ClientWatches(self._chroot)
        self._session = ZookeeperSession(
            servers,
            on_state=self._session_changed,
            on_event=self._watches.fire,
            first_requests=self._watches.requests,
        )
        self._first_session: asyncio.Future[None] | None = None

    @property
    def session_id(self) -> int:
        """The current session; `Stat.ephemeral_owner` of its ephemerals."""
        return self._session.session_id

    @property
    def state(self) -> SessionState:
        """Whether requests can be answered now (ESTABLISHED), later, or not any more."""
        return self._session.state

    def on_session(self, listener: SessionListener) -> None:
        """Call `listener` at every later change of the session's state."""
        self._listeners.append(listener)

    async def connect(self, timeout_ms: float) -> None:
        """Begin the first session, and make the chroot if it is missing.

        Raises ConnectionLoss, with the last thing that went wrong, when time has run out.
        """
        self._first_session = asyncio.get_running_loop().create_future()
        self._session.begin()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._first_session
                await self._make_chroot()
        except TimeoutError:
            self._session.end_now()
            raise ConnectionLoss(self._session.last_fault) from None
        except BaseException:
            self._session.end_now()
            raise

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
        made = Create(path, data, ephemeral, sequential)
        try:
            created = (await self.multi([made]))[0]
        except NoNode:
            if not make_parents:
                raise
            await self._make_all(_ancestors(path))
            created = (await self.multi([made]))[0]
        assert isinstance(created, str)
        return created

    async def get(self, path: str, watch: Watch | None = None) -> Znode:
        """Read a znode and watch its data."""
        found: Znode = (await self._read([path], wire.get, watch, self._watches.watch_data))[0]
        return found

    async def get_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Znode | None]:
        """Read many znodes and watch their data; None stands for a missing one."""
        return await self._read(paths, wire.find, watch, self._watches.watch_data)

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """Read the stat and watch the znode's data, or its creation when it is missing."""
        return (await self.exists_many([path], watch))[0]

    async def exists_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Stat | None]:
        """Read many stats and watch each znode's data, or its creation when it is missing."""
        watches = self._watches
        return await self._read(
            paths, wire.exists, watch, watches.watch_data, watches.watch_creation
        )

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """List the names of the children and watch the list."""
        found: list[str] = (
            await self._read([path], wire.children, watch, self._watches.watch_children)
        )[0]
        return found

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        """Replace the data and return the new stat."""
        stat = (await self.multi([SetData(path, data, version)]))[0]
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a znode."""
        await self.multi([Delete(path, version)])

    async def multi(self, ops: Sequence[Op]) -> list[Result]:
        """Do all of the operations or none."""
        outcome = (await self.pipeline([ops]))[0]
        if isinstance(outcome, ZnodeError):
            raise outcome
        return outcome

    async def pipeline(
        self, transactions: Sequence[Sequence[Op]]
    ) -> list[list[Result] | ZnodeError]:
        """Do many transactions in order, each atomic by itself."""
        self._session.require_established(ROOT)
        outcomes: list[list[Result] | ZnodeError] = [_malformed(ops) or [] for ops in transactions]
        sent = [n for n, ops in enumerate(transactions) if ops and outcomes[n] == []]
        asked = [
            self._session.ask(wire.multi(transactions[n], self._chroot, self._acl_of)) for n in sent
        ]
        for n, outcome in zip(sent, await _all(asked), strict=True):
            outcomes[n] = outcome
        return outcomes

    async def close(self) -> None:
        """End the session."""
        await self._session.close()

    def abandon(self) -> None:
        """Be killed: nobody here hears of anything, and the session goes on until its time-out."""
        self._listeners.clear()
        self._watches.clear()
        self._session.end_now()

    def suspend(self) -> None:
        """Lose the connection, for tests; the session goes on until its time-out."""
        self._session.suspend()

    def resume(self) -> None:
        """Find the connection again: hear what was missed, or that the session is over."""
        self._session.resume()

    # Parts of these.

    async def _read(
        self,
        paths: Sequence[str],
        request: Callable[[str, str, bool], Request],
        watch: Watch | None,
        watch_there: Callable[[str, Watch], None],
        watch_missing: Callable[[str, Watch], None] | None = None,
    ) -> list[Any]:
        self._session.require_established(paths[0] if paths else ROOT)
        for path in paths:
            require_valid(path)
        asked = []
        for path in paths:
            each = request(path, self._chroot.full(path), watch is not None)
            if watch is not None:
                each = _watching(each, path, watch, watch_there, watch_missing)
            asked.append(self._session.ask(each))
        return await _all(asked)

    async def _make_all(self, paths: Iterable[str]) -> None:
        for outcome in await self.pipeline([[Create(path)] for path in paths]):
            if isinstance(outcome, ZnodeError) and not isinstance(outcome, NodeExists):
                raise outcome

    async def _make_chroot(self) -> None:
        """Make the missing ones of the chroot's path, as they stand in ZooKeeper's own tree."""
        path = self._chroot_path
        if not path or await self.exists(ROOT) is not None:
            return
        whole = Chroot("")
        asked = [
            self._session.ask(wire.multi([Create(each)], whole, self._acl_of))
            for each in (*_ancestors(path), path)
        ]
        for outcome in await _all(asked):
            if isinstance(outcome, ZnodeError) and not isinstance(outcome, NodeExists):
                raise outcome

    def _session_changed(self, state: SessionState, session_id: int) -> None:
        first = self._first_session
        if state is SessionState.LOST:
            self._watches.clear()
        if state is SessionState.ESTABLISHED and first is not None and not first.done():
            first.set_result(None)
            return  # nobody has heard of another state before
        for listener in self._listeners:
            listener(state, session_id)


def _watching(
    asked: Request,
    path: str,
    watch: Watch,
    watch_there: Callable[[str, Watch], None],
    watch_missing: Callable[[str, Watch], None] | None,
) -> Request:
    """The request with its watch, which is set as the answer comes in: the next frame may be its
    event."""
    decode = asked.decode

    def decode_and_watch(body: bytes) -> Any:
        found = decode(body)
        watch_there(path, watch)
        return found

    def watch_creation() -> None:
        if watch_missing is not None:
            watch_missing(path, watch)

    missing = None if asked.missing is None else watch_creation
    return asked._replace(decode=decode_and_watch, missing=missing)


async def _all(asked: "list[asyncio.Future[Any]]") -> list[Any]:
    """The answers in order; raises the first failure once all is answered."""
    if asked:
        await asyncio.wait(asked)
    return [each.result() for each in asked]


def _ancestors(path: str) -> list[str]:
    """The paths above one, the uppermost first."""
    names = path.split("/")[1:-1]
    return ["/" + "/".join(names[:end]) for end in range(1, len(names) + 1)]


def _malformed(ops: Sequence[Op]) -> BadArguments | None:
    """What is wrong with the paths, before ZooKeeper sees them below the chroot."""
    for n, op in enumerate(ops):
        is_counted = isinstance(op, Create) and op.sequential
        try:
            require_valid(f"{op.path}0" if is_counted else op.path)
            if op.path == ROOT and isinstance(op, Delete):
                raise BadArguments(ROOT)
        except BadArguments as error:
            error.path, error.failed_op = op.path, n
            return error
    return None
