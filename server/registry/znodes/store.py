"""The interface between the registries and whatever keeps the znodes.

`ZnodeStore` is one ZooKeeper session: a tree of znodes, versions, ephemerals, one-shot
watches and atomic transactions, with ZooKeeper's semantics. Two stores implement it, the
embedded one (`embedded.py`) and the one that talks to Apache ZooKeeper (`zookeeper.py`); the
contract suite, tests/server/registry/test_contract.py, runs over both.

Why coroutines. ZooKeeper answers over the network, so a blocking interface would stop the
broker's one event loop, and a callback interface would turn every read-decide-write of the
controller inside out. Methods are therefore `async def`; a store that has the answer at hand
returns without suspending, and such an await costs about 0.1 µs. Work in bulk does not pay per
call: `pipeline` sends many transactions at once, `get_many` and `exists_many` read many znodes at
once, one network round trip or one journal write for all.

Rules every store keeps:
* A write has returned when it survives a loss of power, if the store keeps anything at all.
* Data is bytes, or None: ZooKeeper tells a null body from an empty one, and so does Kafka.
* Versions start at 0; `ANY_VERSION` means unconditional.
* Callbacks run on the event loop, are plain functions, must not block and should only hand the
  event on. A watch fires once, after the change, in the order of the changes, and before any
  later read of the same session can show the change.
* A write that ends in `ConnectionLoss` or `SessionExpired` may or may not have happened. After a
  lost session all its ephemerals and watches are gone.
"""

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

ANY_VERSION = -1


class ZnodeError(Exception):
    """A request the store refused; `path` names the znode.

    `failed_op` is the position in the transaction of the operation that was refused.
    """

    def __init__(self, path: str, failed_op: int = 0) -> None:
        super().__init__(path)
        self.path = path
        self.failed_op = failed_op

    def __str__(self) -> str:
        return f"{type(self).__name__}: {self.path}"


class NoNode(ZnodeError):
    """The znode, or the parent it should be made under, does not exist."""


class NodeExists(ZnodeError):
    """There is a znode at this path already."""


class BadVersion(ZnodeError):
    """The znode has another version than the caller expected."""


class NotEmpty(ZnodeError):
    """A znode with children cannot be deleted."""


class NoChildrenForEphemerals(ZnodeError):
    """An ephemeral znode cannot have children."""


class BadArguments(ZnodeError):
    """ZooKeeper does not allow this path, or deleting the root."""


class SessionExpired(ZnodeError):
    """The session is over, its ephemerals and watches are gone; a write may have happened."""


class ConnectionLoss(ZnodeError):
    """The store cannot be reached; a write may or may not have happened."""


class StoreFailed(ZnodeError):
    """The store has a trouble of its own, as a journal that cannot be written; nothing happened."""


class NotPermitted(ZnodeError):
    """The znode's ACL does not allow this session to do that."""


class Stat(NamedTuple):
    """What ZooKeeper knows of a znode besides its data; names are ZooKeeper's."""

    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length_bytes: int
    num_children: int
    pzxid: int


class Znode(NamedTuple):
    """A znode's data and stat, read together."""

    data: bytes | None
    stat: Stat


class Create(NamedTuple):
    """Make a znode; the result is its path, with the counter when it is sequential."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


class SetData(NamedTuple):
    """Replace a znode's data; the result is its new stat."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Remove a znode without children; the result is None."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Refuse the transaction unless the znode has this version; the result is None."""

    path: str
    version: int


Op: TypeAlias = Create | SetData | Delete | Check
Result: TypeAlias = str | Stat | None


class EventKind(enum.Enum):
    """What happened to the watched znode; the values are ZooKeeper's numbers."""

    CREATED = 1
    DELETED = 2
    DATA_CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchEvent(NamedTuple):
    """One firing of a watch."""

    kind: EventKind
    path: str


class SessionState(enum.Enum):
    """Where a session stands.

    ESTABLISHED comes with the session's id: the same one after a suspension that ended in
    time, a new one after LOST.
    """

    ESTABLISHED = "established"
    SUSPENDED = "suspended"
    LOST = "lost"
    CLOSED = "closed"


Watch: TypeAlias = Callable[[WatchEvent], None]
SessionListener: TypeAlias = Callable[[SessionState, int], None]


class ZnodeStore(Protocol):
    """One session with the tree of znodes."""

    @property
    def session_id(self) -> int:
        """The current session; `Stat.ephemeral_owner` of its ephemerals."""

    @property
    def state(self) -> SessionState:
        """Whether requests can be answered now (ESTABLISHED), later, or not any more."""

    def on_session(self, listener: SessionListener) -> None:
        """Call `listener` at every later change of the session's state."""

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
    ) -> str:
        """Make a znode and return its path; missing parents are made with null data on request.

        Raises NoNode, NodeExists, NoChildrenForEphemerals.
        """

    async def get(self, path: str, watch: Watch | None = None) -> Znode:
        """Read a znode and watch its data; without the znode NoNode, and no watch is left."""

    async def get_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Znode | None]:
        """Read many znodes and watch their data; None stands for a missing one, without a watch."""

    async def exists_many(
        self, paths: Sequence[str], watch: Watch | None = None
    ) -> list[Stat | None]:
        """Read many stats and watch each znode's data, or its creation when it is missing."""

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """Read the stat and watch the znode's data, or its creation when it is missing."""

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """List the names of the children in no promised order and watch the list."""

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        """Replace the data and return the new stat; raises NoNode, BadVersion."""

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a znode; raises NoNode, BadVersion, NotEmpty."""

    async def multi(self, ops: Sequence[Op]) -> list[Result]:
        """Do all of the operations or none; raises the error of the one that was refused."""

    async def pipeline(
        self, transactions: Sequence[Sequence[Op]]
    ) -> list[list[Result] | ZnodeError]:
        """Do many transactions in order, each atomic by itself; refusals are returned.

        Raises ConnectionLoss or SessionExpired when it is not known which have happened.
        """

    async def close(self) -> None:
        """End the session: its ephemerals and watches go at once, if it can say goodbye."""

    def suspend(self) -> None:
        """Lose the connection, for tests; the session goes on until its timeout."""

    def resume(self) -> None:
        """Find the connection again: hear what was missed, or that the session is over."""
