"""A ZooKeeper session over one connection after the other.

ESTABLISHED while a connection is there; SUSPENDED from its loss to the next one; LOST when
ZooKeeper, found again, says that the session has ended, until it has granted a new one. Only
ZooKeeper can say so: a session goes on while all servers are down, however long that takes.

All that has been asked and not answered when a connection goes ends in ConnectionLoss; nothing is
asked twice, since nobody here knows what may be done twice. While there is no connection, a
request is refused at once.

Time here is that of the loop, and not of the broker's clock: ZooKeeper counts in its own.
"""

import asyncio
import logging
import os
import random
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from barnabas.server.registry.znodes import zookeeper_wire as wire
from barnabas.server.registry.znodes.store import (
    ConnectionLoss,
    NoNode,
    SessionExpired,
    SessionState,
    ZnodeError,
)
from barnabas.server.registry.znodes.zookeeper_link import Link
from barnabas.server.registry.znodes.zookeeper_wire import Answer, Event, Request, Session

LEAST_TRIES: Final = 3  # to go on with a session before its time is over
SHORTEST_PATIENCE_S: Final = 2.0  # but one of fewer seconds has one try
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0
SAID_FROM: Final = 4  # rounds through all servers in vain
FAREWELL_S: Final = 2.0  # for the answer to the end of a session

_log = logging.getLogger(__name__)


class ZookeeperServers(NamedTuple):
    """Where ZooKeeper is, and how a session with it is held.

    `servers` are tried in random order. `credentials` are (scheme, text), as ("digest",
    "user:password"). `check_hostname` belongs to `tls`.
    """

    servers: Sequence[tuple[str, int]]
    timeout_ms: int
    most_in_flight: int = 10
    tls: ssl.SSLContext | None = None
    credentials: tuple[str, str] | None = None


def patience_of(timeout_ms: int, servers: int) -> float:
    """How many seconds a server has to grant a session.

    Several have to fit into one: a ZooKeeper that is just starting accepts connections of which it
    may never read, and grants on the next one what was asked for in vain.
    """
    timeout_s = timeout_ms / 1000
    return max(timeout_s / max(servers, LEAST_TRIES), min(timeout_s / servers, SHORTEST_PATIENCE_S))


class _Waiting(NamedTuple):
    """A request, and who waits for its answer; `xid` is 0 until it is sent."""

    xid: int
    request: Request
    answered: "asyncio.Future[Any]"


class ZookeeperSession:
    """The life of one session after the other, and the requests of the current one."""

    def __init__(
        self,
        servers: ZookeeperServers,
        *,
        on_state: Callable[[SessionState, int], None],
        on_event: Callable[[Event], None],
        first_requests: Callable[[int], list[Request]],
    ) -> None:
        """`first_requests` are sent on a new connection of an old session, before all others."""
        self._servers = servers
        self._on_state = on_state
        self._on_event = on_event
        self._first_requests = first_requests
        self.state = SessionState.SUSPENDED
        self.session_id, self._password = wire.NEW_SESSION
        self.last_fault = "nothing was tried yet"
        self._last_zxid = 0
        self._xid = 0
        self._link: Link | None = None
        self._ended: asyncio.Future[None] | None = None  # of the connection there is
        self._queue: deque[_Waiting] = deque()  # not sent yet
        self._pending: deque[_Waiting] = deque()  # not answered yet
        self._greeted = False
        self._is_over = False
        self._is_cut_off = False
        self._life: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look for a server, and go on doing so whenever the connection is lost."""
        self._life = asyncio.get_running_loop().create_task(self._live())

    def ask(self, request: Request) -> "asyncio.Future[Any]":
        """Send a request, in order; the future has the decoded answer or its ZnodeError.

        Raises ConnectionLoss, SessionExpired at once while there is no session to ask in.
        """
        self.require_established(request.path)
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(0, request, answered))
        self._send_more()
        return answered

    def require_established(self, path: str) -> None:
        """Raise ConnectionLoss, SessionExpired unless there is a session to ask in."""
        if self.state is SessionState.SUSPENDED:
            raise ConnectionLoss(path)
        if self.state is not SessionState.ESTABLISHED or self._is_over:
            raise SessionExpired(path)

    async def close(self) -> None:
        """End the session; ZooKeeper removes its ephemerals at once, if it can be reached."""
        if self._is_over:
            return
        self._is_over = True
        if self.state is SessionState.ESTABLISHED and self._ended is not None:
            self._send(_Waiting(0, wire.close(), asyncio.get_running_loop().create_future()))
            await asyncio.wait((self._ended,), timeout=FAREWELL_S)
        self.end_now()

    def end_now(self) -> None:
        """Have done with it without a word: ZooKeeper waits for the session's time-out."""
        self._is_over = True
        if self._life is not None:
            self._life.cancel()
        if self._link is not None:
            self._link.drop("the session has been closed")
        self._fail_all(SessionExpired)
        if self.state is not SessionState.CLOSED:
            self._enter(SessionState.CLOSED)

    def suspend(self) -> None:
        """Lose the connection, and find no server until `resume`: as if the network did that."""
        self._is_cut_off = True
        if self._link is not None:
            self._link.drop("the line is cut")

    def resume(self) -> None:
        """Find the servers again."""
        self._is_cut_off = False

    # The life of it.

    async def _live(self) -> None:
        failures = 0
        while not self._is_over:
            if await self._try_servers():
                failures = 0
                continue
            failures += 1
            if failures >= SAID_FROM and failures & (failures - 1) == 0:  # ever more seldom
                _log.warning("ZooKeeper grants no session: %s", self.last_fault)
            pause_s = min(FIRST_PAUSE_S * 2 ** min(failures, 10), LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))

    async def _try_servers(self) -> bool:
        """Try each server once; True after one of them has granted a session, and gone again."""
        servers = random.sample(self._servers.servers, len(self._servers.servers))
        for host, port in servers:
            try:
                link, ended = await self._connect(host, port)
            except OSError as error:
                self.last_fault = f"{host}:{port}: {_reason(error)}"
                _log.debug("ZooKeeper at %s cannot be reached", self.last_fault)
                continue
            await ended
            if self._greeted:
                return True
            link.drop("no session")
        return False

    async def _connect(self, host: str, port: int) -> "tuple[Link, asyncio.Future[None]]":
        """Connect and ask for the session; the future is done when the connection has ended."""
        if self._is_cut_off:
            raise ConnectionRefusedError("the line is cut")
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        self._greeted = False
        patience_s = patience_of(self._servers.timeout_ms, len(self._servers.servers))

        def lost(link: Link, why: str) -> None:
            self._lost(link, f"{host}:{port}: {why}")
            if not ended.done():
                ended.set_result(None)

        async with asyncio.timeout(patience_s):
            link = Link(self._heard, lost)
            await loop.create_connection(lambda: link, host, port, ssl=self._servers.tls)
        self._link, self._ended = link, ended
        link.send(
            wire.connect_frame(
                self._last_zxid, self._servers.timeout_ms, self.session_id, self._password
            )
        )
        loop.call_later(patience_s, partial(self._require_greeting, link))
        return link, ended

    def _require_greeting(self, link: Link) -> None:
        if link is self._link and not self._greeted:
            link.drop("no session was granted in time")

    def _heard(self, link: Link, body: bytes) -> None:
        if link is not self._link:
            return
        if not self._greeted:
            return self._begin_session(link, wire.read_session(body))
        answer = wire.read_answer(body)
        if answer.xid == wire.EVENT_XID:
            if not self._is_over:  # its end removes what it may have been watching
                self._on_event(wire.read_event(answer.body))
        elif answer.xid == wire.AUTH_XID:
            if answer.error:
                link.drop(f"the credentials were refused (ZooKeeper's error {answer.error})")
        elif answer.xid != wire.PING_XID:
            self._answered(link, answer)

    def _begin_session(self, link: Link, granted: Session) -> None:
        if self._is_cut_off:  # since the connection was asked for
            return link.drop("the line is cut")
        if granted.timeout_ms <= 0:
            return self._session_over(link)
        self._greeted = True
        link.keep_alive(granted.timeout_ms)
        if self._servers.credentials is not None:
            link.send(wire.auth_frame(*self._servers.credentials))
        is_new = granted.session_id != self.session_id
        self.session_id, self._password = granted.session_id, granted.password
        if is_new and granted.timeout_ms != self._servers.timeout_ms:
            _log.info("ZooKeeper made the session's time-out %d ms", granted.timeout_ms)
        for request in () if is_new else self._first_requests(self._last_zxid):
            self._send(_Waiting(0, request, asyncio.get_running_loop().create_future()))
        self._enter(SessionState.ESTABLISHED)

    def _session_over(self, link: Link) -> None:
        """ZooKeeper does not know the session any more; the next one is asked for at once."""
        over, (self.session_id, self._password) = self.session_id, wire.NEW_SESSION
        self._last_zxid = 0
        link.drop("the session has ended")
        if self.state is not SessionState.LOST:
            self.state = SessionState.LOST
            self._on_state(SessionState.LOST, over)

    def _lost(self, link: Link, why: str) -> None:
        """A connection has ended; whatever hangs on it does too."""
        self.last_fault = why
        if link is not self._link:
            return
        self._link = None
        self._xid = 0
        self._fail_all(ConnectionLoss)
        if self.state is SessionState.ESTABLISHED and not self._is_over:
            _log.warning("the connection to ZooKeeper is lost: %s", why)
            self._enter(SessionState.SUSPENDED)

    def _enter(self, state: SessionState) -> None:
        self.state = state
        self._on_state(state, self.session_id)

    # Requests.

    def _send_more(self) -> None:
        while self._queue and len(self._pending) < self._servers.most_in_flight:
            self._send(self._queue.popleft())

    def _send(self, waiting: _Waiting) -> None:
        if self._link is None:
            return
        self._xid = self._xid % 0x7FFF_FFFF + 1
        self._pending.append(waiting._replace(xid=self._xid))
        self._link.send(wire.request_frame(self._xid, waiting.request))

    def _answered(self, link: Link, answer: Answer) -> None:
        if not self._pending or self._pending[0].xid != answer.xid:
            return link.drop(f"the answer to request {answer.xid} came out of order")
        if answer.zxid > 0:
            self._last_zxid = answer.zxid
        _, request, answered = self._pending[0]
        try:
            _settle(answered, _outcome(request, answer))
        except ZnodeError as refused:
            _settle(answered, refused=refused)
        except Exception as error:
            return link.drop(f"an answer cannot be read: {error!r}")
        self._pending.popleft()
        self._send_more()

    def _fail_all(self, why: "type[ConnectionLoss] | type[SessionExpired]") -> None:
        waiting = (*self._pending, *self._queue)
        self._pending.clear()
        self._queue.clear()
        for each in waiting:
            _settle(each.answered, refused=why(each.request.path))


def _outcome(request: Request, answer: Answer) -> Any:
    """The decoded answer; raises the ZnodeError that it may be."""
    if not answer.error:
        return request.decode(answer.body)
    error = wire.refusal(answer.error, request.path)
    if request.missing is not None and isinstance(error, NoNode):
        return request.missing()
    raise error


def _reason(error: OSError) -> str:
    is_named = isinstance(error, ssl.SSLError | socket.gaierror)  # their numbers are their own
    if error.errno is not None and not is_named:
        return os.strerror(error.errno)  # asyncio's own text repeats the address
    return str(error) or "no answer in time"


def _settle(
    answered: "asyncio.Future[Any]", outcome: Any = None, *, refused: ZnodeError | None = None
) -> None:
    """Tell who waits, if anybody still does."""
    if answered.done():
        return
    if refused is None:
        answered.set_result(outcome)
    else:
        answered.set_exception(refused)
        answered.exception()  # one that nobody asks for is no fault
