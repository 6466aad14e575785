"""ZooKeeper's requests and answers as bytes: this store's operations in kazoo's records.

kazoo knows the layout of every record; what it has no record for (SetWatches), and how a
transaction's results are told apart, stands here. It has no types, so all of it that is used goes
through this module, and is imported with the first store that needs ZooKeeper.

A request is `xid, type, body` in a frame with its length before it, an answer `xid, zxid, error`
and a body. Answers come in the order of the requests; events (xid -1) come between them.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from barnabas.server.registry.znodes.store import (
    BadArguments,
    BadVersion,
    ConnectionLoss,
    Create,
    Delete,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    NotPermitted,
    Op,
    Result,
    SessionExpired,
    SetData,
    Stat,
    StoreFailed,
    Znode,
    ZnodeError,
)

_records: Any = import_module("kazoo.protocol.serialization")
_security: Any = import_module("kazoo.security")
_errors: Any = import_module("kazoo.exceptions")

EVENT_XID: Final = -1
PING_XID: Final = -2
AUTH_XID: Final = -4
MOST_FRAME_BYTES: Final = 64 << 20
NEW_SESSION: Final = (0, bytes(16))

_OK = 0
_SET_WATCHES = 101
_WATCHES_BYTES = 128 << 10  # of paths in one SetWatches, which must fit into a request
_ROLLED_BACK = (_OK, -2)  # what a refused transaction says of the operations that were not it
_EPHEMERAL, _SEQUENTIAL = 1, 2

_REFUSALS: dict[int, type[ZnodeError]] = {
    _errors.NoNodeError.code: NoNode,
    _errors.NodeExistsError.code: NodeExists,
    _errors.BadVersionError.code: BadVersion,
    _errors.NotEmptyError.code: NotEmpty,
    _errors.NoChildrenForEphemeralsError.code: NoChildrenForEphemerals,
    _errors.BadArgumentsError.code: BadArguments,
    _errors.SessionExpiredError.code: SessionExpired,
    _errors.ConnectionLoss.code: ConnectionLoss,
    _errors.OperationTimeoutError.code: ConnectionLoss,
    _errors.SessionMovedError.code: ConnectionLoss,
    _errors.NoAuthError.code: NotPermitted,
    _errors.InvalidACLError.code: NotPermitted,
}


class Permission(NamedTuple):
    """One entry of an ACL: `perms` are ZooKeeper's bits (31 is all of them, 1 reading)."""

    perms: int
    scheme: str
    id: str


OPEN: Final = (Permission(31, "world", "anyone"),)
Acl = Sequence[Permission]


class Request(NamedTuple):
    """One request: its type, its body, what it is about, and how its answer is read.

    `decode` gets the body of an answer without an error; `missing` stands for what is not there,
    where that is an answer. Both run as the answer comes in, before any event that follows it.
    """

    type: int
    body: bytes
    path: str
    decode: Callable[[bytes], Any]
    missing: Callable[[], Any] | None = None


class Session(NamedTuple):
    """What ZooKeeper grants: `timeout_ms` is 0 or less when the session asked for is over."""

    timeout_ms: int
    session_id: int
    password: bytes


class Answer(NamedTuple):
    """The header of a frame from ZooKeeper, and what follows it."""

    xid: int
    zxid: int
    error: int
    body: bytes


class Event(NamedTuple):
    """A watch has fired; `kind` is the number of an `EventKind`."""

    kind: int
    path: str


class Chroot:
    """Where in ZooKeeper's tree the store's tree lies; "" for all of it."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def full(self, path: str) -> str:
        """The path as ZooKeeper knows it."""
        return path if not self._prefix else self._prefix + (path if path != "/" else "")

    def short(self, path: str) -> str:
        """The path as the store's user knows it."""
        return path[len(self._prefix) :] or "/"


# Frames.


def frame(*parts: bytes) -> bytes:
    """Put the length before a frame's parts."""
    return struct.pack(">i", sum(map(len, parts))) + b"".join(parts)


def request_frame(xid: int, request: Request) -> bytes:
    """A request as it is sent."""
    return frame(struct.pack(">ii", xid, request.type), request.body)


def ping_frame() -> bytes:
    """A sign of life."""
    return frame(struct.pack(">ii", PING_XID, _records.Ping.type))


def auth_frame(scheme: str, credentials: str) -> bytes:
    """Say who this is; it counts for the session's connection."""
    body = _records.Auth(0, scheme, credentials).serialize()
    return frame(struct.pack(">ii", AUTH_XID, _records.Auth.type), body)


def connect_frame(last_zxid: int, timeout_ms: int, session_id: int, password: bytes) -> bytes:
    """Ask for a new session (NEW_SESSION), or to go on with one."""
    return frame(
        bytes(_records.Connect(0, last_zxid, timeout_ms, session_id, password, False).serialize())
    )


def read_session(body: bytes) -> Session:
    """Read the answer to `connect_frame`."""
    found, _ = _records.Connect.deserialize(body, 0)
    return Session(found.time_out, found.session_id, found.passwd)


def read_answer(body: bytes) -> Answer:
    """Read the header of any later frame."""
    header, offset = _records.ReplyHeader.deserialize(body, 0)
    return Answer(header.xid, header.zxid, header.err, body[offset:])


def read_event(body: bytes) -> Event:
    """Read the body of an event; its path is ZooKeeper's."""
    found, _ = _records.Watch.deserialize(body, 0)
    return Event(found.type, found.path)


def refusal(code: int, path: str) -> ZnodeError:
    """The error that a number from ZooKeeper means."""
    known = _REFUSALS.get(code)
    return StoreFailed(f"{path} (ZooKeeper's error {code})") if known is None else known(path)


# Requests.


def get(path: str, full: str, watches: bool) -> Request:
    """Read data and stat; NoNode is refused."""
    return _request(_records.GetData(full, watches), path, _read_znode)


def find(path: str, full: str, watches: bool) -> Request:
    """Read data and stat; None stands for a missing znode."""
    return get(path, full, watches)._replace(missing=lambda: None)


def exists(path: str, full: str, watches: bool) -> Request:
    """Read the stat; None stands for a missing znode."""
    asked = _request(_records.Exists(full, watches), path, _read_stat)
    return asked._replace(missing=lambda: None)


def children(path: str, full: str, watches: bool) -> Request:
    """List names; NoNode is refused."""
    return _request(_records.GetChildren2(full, watches), path, _read_names)


def multi(ops: Sequence[Op], chroot: Chroot, acl_of: Callable[[str], Acl]) -> Request:
    """A transaction; its answer is a list of results, or the ZnodeError that refused it."""
    records = [_operation(op, chroot, acl_of) for op in ops]
    return _request(
        _records.Transaction(records), ops[0].path, lambda body: _read_results(body, ops, chroot)
    )


def close() -> Request:
    """End the session."""
    return _request(_records.CloseInstance, "/", lambda body: None)


def set_watches(
    zxid: int, data: Iterable[str], created: Iterable[str], children: Iterable[str]
) -> list[Request]:
    """Watch again on a new connection; what happened after `zxid` fires at once.

    `created` are znodes that were not there. The paths are ZooKeeper's.
    """
    kinds = (list(data), list(created), list(children))
    found: list[Request] = []
    while any(kinds):
        parts = [_take(paths) for paths in kinds]
        body = struct.pack(">q", zxid) + b"".join(map(_vector, parts))
        found.append(Request(_SET_WATCHES, body, "/", lambda body: None))
    return found


def _request(record: Any, path: str, decode: Callable[[bytes], Any]) -> Request:
    return Request(record.type, bytes(record.serialize()), path, decode)


def _operation(op: Op, chroot: Chroot, acl_of: Callable[[str], Acl]) -> Any:
    path = chroot.full(op.path)
    if isinstance(op, Create):
        flags = _EPHEMERAL * op.ephemeral + _SEQUENTIAL * op.sequential
        return _records.Create(path, op.data, _acl(acl_of(op.path)), flags)
    if isinstance(op, SetData):
        return _records.SetData(path, op.data, op.version)
    if isinstance(op, Delete):
        return _records.Delete(path, op.version)
    return _records.CheckVersion(path, op.version)


def _acl(acl: Acl) -> list[Any]:
    return [_security.ACL(each.perms, _security.Id(each.scheme, each.id)) for each in acl]


def _take(paths: list[str]) -> list[bytes]:
    taken: list[bytes] = []
    length = 0
    while paths and length < _WATCHES_BYTES:
        taken.append(paths.pop().encode())
        length += len(taken[-1])
    return taken


def _vector(strings: Sequence[bytes]) -> bytes:
    parts = [struct.pack(">i", len(strings))]
    for each in strings:
        parts += (struct.pack(">i", len(each)), each)
    return b"".join(parts)


# Answers.


def _read_stat(body: bytes, offset: int = 0) -> Stat:
    return Stat._make(_records.stat_struct.unpack_from(body, offset))


def _read_znode(body: bytes) -> Znode:
    data, offset = _records.read_buffer(body, 0)
    return Znode(data, _read_stat(body, offset))


def _read_names(body: bytes) -> list[str]:
    names, _ = _records.GetChildren2.deserialize(body, 0)
    return list(names)


def _read_results(body: bytes, ops: Sequence[Op], chroot: Chroot) -> list[Result] | ZnodeError:
    results: list[Result] = []
    header, offset = _records.MultiHeader.deserialize(body, 0)
    while not header.done:
        if header.type == -1:  # refused: each operation has an error, and one of them is why
            (code,) = struct.unpack_from(">i", body, offset)
            offset += 4
            if code not in _ROLLED_BACK:
                return _refused(code, len(results), ops)
            results.append(None)
        else:
            result, offset = _read_result(header.type, body, offset, chroot)
            results.append(result)
        header, offset = _records.MultiHeader.deserialize(body, offset)
    if len(results) != len(ops):
        raise ValueError(f"{len(results)} results came for {len(ops)} operations")
    return results


def _read_result(kind: int, body: bytes, offset: int, chroot: Chroot) -> tuple[Result, int]:
    if kind == _records.Create.type:
        path, offset = _records.read_string(body, offset)
        return chroot.short(path), offset
    if kind == _records.SetData.type:
        return _read_stat(body, offset), offset + _records.stat_struct.size
    return None, offset


def _refused(code: int, failed_op: int, ops: Sequence[Op]) -> ZnodeError:
    error = refusal(code, ops[failed_op].path)
    error.failed_op = failed_op
    return error
