"""The znode tree: a pure data structure with ZooKeeper's rules.

Znodes are kept flat, path to node, parents always before their children, which is also the
order a snapshot writes them in. Nothing here knows sessions' life, watches, files or clocks:
the caller gives every change its transaction id (zxid) and its time.

Each change is reported as a `Change` that holds what was there before, so one list of them
serves three readers: `undo` takes an unfinished transaction back, the journal writes it down,
and the watches fire from it.

Two counters need a word. A parent counts the children ever created in `creates`: that number
is the suffix of the next sequential child, so a name is never used twice even after deletes.
The `cversion` that clients see counts creations and deletions, which is twice the creations
less the children there are now (ZooKeeper's DataNode.copyStat).
"""

from typing import NamedTuple

from barnabas.server.registry.znodes.names import ROOT, require_valid, require_valid_name
from barnabas.server.registry.znodes.store import (
    ANY_VERSION,
    BadArguments,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Stat,
)

PERSISTENT = 0

CREATED = 1
DELETED = 2
DATA_CHANGED = 3


class Node:
    """One znode; times are in milliseconds, an `ephemeral_owner` of 0 means persistent."""

    __slots__ = (
        "children",
        "creates",
        "ctime_ms",
        "czxid",
        "data",
        "ephemeral_owner",
        "mtime_ms",
        "mzxid",
        "pzxid",
        "version",
    )

    def __init__(self, data: bytes | None, ephemeral_owner: int, zxid: int, now_ms: int) -> None:
        self.data = data
        self.ephemeral_owner = ephemeral_owner
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime_ms = self.mtime_ms = now_ms
        self.version = self.creates = 0
        # Most znodes have no children; an ordered set is made for those that get one.
        self.children: dict[str, None] | None = None

    def stat(self) -> Stat:
        """Return the stat as ZooKeeper shows it."""
        num_children = len(self.children) if self.children else 0
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime_ms,
            self.mtime_ms,
            self.version,
            2 * self.creates - num_children,
            0,
            self.ephemeral_owner,
            len(self.data) if self.data else 0,
            num_children,
            self.pzxid,
        )


class Change(NamedTuple):
    """What one operation did, and what is needed to take it back.

    `before` is the parent's pzxid for CREATED and DELETED, and (data, mzxid, mtime_ms) for
    DATA_CHANGED.
    """

    kind: int
    path: str
    node: Node
    before: int | tuple[bytes | None, int, int]


class Tree:
    """All znodes, and which of them belong to which session."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {ROOT: Node(b"", PERSISTENT, 0, 0)}
        self.ephemerals: dict[int, dict[str, None]] = {}
        self.last_zxid = 0

    def node(self, path: str) -> Node:
        """Return the znode at `path`; raises NoNode, or BadArguments for a malformed path."""
        node = self.nodes.get(path)
        if node is None:
            require_valid(path)
            raise NoNode(path)
        return node

    def find(self, path: str) -> Node | None:
        """Return the znode at `path` or None; raises BadArguments for a malformed path."""
        node = self.nodes.get(path)
        if node is None:
            require_valid(path)
        return node

    def children(self, path: str) -> list[str]:
        """Return the names of the children in the order they were made."""
        return list(self.node(path).children or ())

    def create(
        self,
        path: str,
        data: bytes | None,
        owner: int,
        sequential: bool,
        zxid: int,
        now_ms: int,
    ) -> Change:
        """Make a znode, by ZooKeeper's order of checks; `owner` 0 makes it persistent."""
        parent_path, _, name = path.rpartition("/")
        parent = self.nodes.get(parent_path or ROOT)
        if parent is None or not path:
            require_valid(path)
            raise NoNode(path)
        if sequential:
            number = f"{parent.creates:010d}"
            path += number
            name += number
        # What stands before the name is the path of a znode, or else "" or "/" by accident.
        if path[0] != "/" or parent_path == ROOT:
            raise BadArguments(path)
        require_valid_name(path, name)
        if path in self.nodes:
            raise NodeExists(path)
        if parent.ephemeral_owner:
            raise NoChildrenForEphemerals(path)
        before = parent.pzxid
        node = Node(data, owner, zxid, now_ms)
        self._link(parent, path, name, node)
        return Change(CREATED, path, node, before)

    def add(self, path: str, node: Node) -> None:
        """Put a new znode where it is known to be allowed; raises KeyError without its parent."""
        parent_path, _, name = path.rpartition("/")
        self._link(self.nodes[parent_path or ROOT], path, name, node)

    def _link(self, parent: Node, path: str, name: str, node: Node) -> None:
        self.nodes[path] = node
        parent.pzxid = node.czxid
        parent.creates += 1
        if parent.children is None:
            parent.children = {name: None}
        else:
            parent.children[name] = None
        if node.ephemeral_owner:
            self.ephemerals.setdefault(node.ephemeral_owner, {})[path] = None

    def set_data(
        self, path: str, data: bytes | None, version: int, zxid: int, now_ms: int
    ) -> Change:
        """Replace a znode's data if it has the expected version."""
        node = self.node(path)
        require_version(path, node, version)
        before = (node.data, node.mzxid, node.mtime_ms)
        node.data = data
        node.version += 1
        node.mzxid = zxid
        node.mtime_ms = now_ms
        return Change(DATA_CHANGED, path, node, before)

    def delete(self, path: str, version: int, zxid: int) -> Change:
        """Remove a znode if it has the expected version and no children."""
        if path == ROOT:
            raise BadArguments(path)
        node = self.node(path)
        require_version(path, node, version)
        if node.children:
            raise NotEmpty(path)
        return self._remove(path, node, zxid)

    def check(self, path: str, version: int) -> None:
        """Raise BadVersion unless the znode has this version."""
        require_version(path, self.node(path), version)

    def undo(self, changes: list[Change]) -> None:
        """Take changes back, the last one first."""
        for change in reversed(changes):
            if change.kind == CREATED:
                self._undo_create(change)
            elif change.kind == DELETED:
                self._undo_delete(change)
            else:
                node = change.node
                assert isinstance(change.before, tuple)
                node.data, node.mzxid, node.mtime_ms = change.before
                node.version -= 1

    def _remove(self, path: str, node: Node, zxid: int) -> Change:
        parent_path, _, name = path.rpartition("/")
        parent = self.nodes[parent_path or ROOT]
        before = parent.pzxid
        assert parent.children is not None
        del self.nodes[path]
        del parent.children[name]
        parent.pzxid = zxid
        self._disown(path, node)
        return Change(DELETED, path, node, before)

    def _disown(self, path: str, node: Node) -> None:
        if not node.ephemeral_owner:
            return
        owned = self.ephemerals[node.ephemeral_owner]
        del owned[path]
        if not owned:
            del self.ephemerals[node.ephemeral_owner]

    def _undo_create(self, change: Change) -> None:
        parent_path, _, name = change.path.rpartition("/")
        parent = self.nodes[parent_path or ROOT]
        assert parent.children is not None and isinstance(change.before, int)
        del self.nodes[change.path]
        del parent.children[name]
        parent.creates -= 1
        parent.pzxid = change.before
        self._disown(change.path, change.node)

    def _undo_delete(self, change: Change) -> None:
        parent_path, _, name = change.path.rpartition("/")
        parent = self.nodes[parent_path or ROOT]
        assert parent.children is not None and isinstance(change.before, int)
        self.nodes[change.path] = change.node
        parent.children[name] = None
        parent.pzxid = change.before
        if change.node.ephemeral_owner:
            self.ephemerals.setdefault(change.node.ephemeral_owner, {})[change.path] = None


def require_version(path: str, node: Node, version: int) -> None:
    """Raise BadVersion unless `version` is the znode's or ANY_VERSION."""
    if version not in (ANY_VERSION, node.version):
        raise BadVersion(path)
