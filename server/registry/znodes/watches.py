"""One-shot watches: who wants to hear of which znode, and firing them in order.

A data watch hears of creation, deletion and new data, a child watch of new and removed
children and of deletion. Every firing removes the watch. The same callback set twice on one
znode fires once, and one that watches both data and children of a znode hears of its deletion
once (ZooKeeper's DataTree and ZKWatchManager).
"""

from collections.abc import Callable, Iterable

from barnabas.server.registry.znodes.names import ROOT
from barnabas.server.registry.znodes.store import EventKind, Watch, WatchEvent
from barnabas.server.registry.znodes.tree import CREATED, DELETED, Change

_Watchers = dict[tuple[int, Watch], None]
Deliver = Callable[[int, Watch, WatchEvent], None]


class WatchTable:
    """The watches of all sessions on one tree."""

    def __init__(self, deliver: Deliver) -> None:
        """`deliver` is called with the session, the callback and the event of each firing."""
        self._data: dict[str, _Watchers] = {}
        self._children: dict[str, _Watchers] = {}
        self._deliver = deliver

    def watch_data(self, path: str, session_id: int, watch: Watch) -> None:
        """Hear of the znode's creation, deletion or next change of data."""
        self._data.setdefault(path, {})[session_id, watch] = None

    def watch_children(self, path: str, session_id: int, watch: Watch) -> None:
        """Hear of the znode's next new or removed child, or of its deletion."""
        self._children.setdefault(path, {})[session_id, watch] = None

    def forget(self, session_id: int) -> None:
        """Drop all watches of a session."""
        for table in (self._data, self._children):
            for path in list(table):
                kept = {key: None for key in table[path] if key[0] != session_id}
                if kept:
                    table[path] = kept
                else:
                    del table[path]

    def fire(self, changes: Iterable[Change]) -> None:
        """Fire the watches that these changes concern."""
        data, children = self._data, self._children
        for kind, path, _, _ in changes:
            if kind == CREATED:
                if path in data:
                    self._tell(data.pop(path), EventKind.CREATED, path)
                self._fire_parent(path)
            elif kind == DELETED:
                if path in data or path in children:
                    watchers = data.pop(path, {}) | children.pop(path, {})
                    self._tell(watchers, EventKind.DELETED, path)
                self._fire_parent(path)
            elif path in data:
                self._tell(data.pop(path), EventKind.DATA_CHANGED, path)

    def __len__(self) -> int:
        return sum(len(w) for table in (self._data, self._children) for w in table.values())

    def _fire_parent(self, path: str) -> None:
        if not self._children:
            return
        parent = path.rpartition("/")[0] or ROOT
        if parent in self._children:
            self._tell(self._children.pop(parent), EventKind.CHILDREN_CHANGED, parent)

    def _tell(self, watchers: _Watchers, kind: EventKind, path: str) -> None:
        event = WatchEvent(kind, path)
        for session_id, watch in watchers:
            self._deliver(session_id, watch, event)
