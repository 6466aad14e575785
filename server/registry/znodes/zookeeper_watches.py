"""The client's half of watches: which callbacks hear of which znode of ZooKeeper.

ZooKeeper tells a session that a path's watch has fired, and forgets it; which functions wanted to
know is kept here. A lost connection loses the watches there, not here: they are set again on the
next one, and what was missed meanwhile fires (ZooKeeper's ZKWatchManager).
"""

import logging
from typing import Final

from barnabas.server.registry.znodes.store import EventKind, Watch, WatchEvent
from barnabas.server.registry.znodes.zookeeper_wire import Chroot, Event, Request, set_watches

_KINDS: Final = {kind.value: kind for kind in EventKind}
_Watchers = dict[Watch, None]
_Callbacks = dict[str, _Watchers]

_log = logging.getLogger(__name__)


class ClientWatches:
    """The watches of one session; paths are the store's."""

    def __init__(self, chroot: Chroot) -> None:
        self._chroot = chroot
        self._data: _Callbacks = {}
        self._created: _Callbacks = {}
        self._children: _Callbacks = {}

    def watch_data(self, path: str, watch: Watch) -> None:
        """Hear of the next change, or the end, of a znode that is there."""
        self._data.setdefault(path, {})[watch] = None

    def watch_creation(self, path: str, watch: Watch) -> None:
        """Hear of the creation of a znode that is not there."""
        self._created.setdefault(path, {})[watch] = None

    def watch_children(self, path: str, watch: Watch) -> None:
        """Hear of the next new or removed child, or of the znode's end."""
        self._children.setdefault(path, {})[watch] = None

    def fire(self, event: Event) -> None:
        """Call who waits for this; each function once."""
        kind = _KINDS.get(event.kind)
        if kind is None:
            return  # of a later ZooKeeper
        told = WatchEvent(kind, self._chroot.short(event.path))
        for watch in self._take(told):
            try:
                watch(told)
            except Exception:
                _log.exception("a watch of %s failed", told.path)

    def requests(self, zxid: int) -> list[Request]:
        """What sets all watches again on a new connection; `zxid` is the last change seen."""
        full = self._chroot.full
        tables = (self._data, self._created, self._children)
        return set_watches(zxid, *(map(full, table) for table in tables))

    def clear(self) -> None:
        """The session is over, and its watches with it."""
        for table in (self._data, self._created, self._children):
            table.clear()

    def _take(self, event: WatchEvent) -> _Watchers:
        kind, path = event
        if kind is EventKind.CHILDREN_CHANGED:
            return self._children.pop(path, {})
        watchers = self._data.pop(path, {}) | self._created.pop(path, {})
        if kind is EventKind.DELETED:
            watchers |= self._children.pop(path, {})
        return watchers
