"""The watch table: who is told what, and that nothing is left behind."""

from barnabas.server.registry.znodes.store import EventKind, Watch, WatchEvent
from barnabas.server.registry.znodes.tree import PERSISTENT, Change, Tree
from barnabas.server.registry.znodes.watches import WatchTable


class Desk:
    """A tree with a watch table, and the list of what was delivered to whom."""

    def __init__(self) -> None:
        self.delivered: list[tuple[int, WatchEvent]] = []
        self.table = WatchTable(self._deliver)
        self.tree = Tree()

    def _deliver(self, session_id: int, watch: Watch, event: WatchEvent) -> None:
        watch(event)
        self.delivered.append((session_id, event))

    def create(self, path: str) -> Change:
        return self.tree.create(path, None, PERSISTENT, False, 1, 1)


def ignore(event: WatchEvent) -> None:
    """A watch that does nothing."""


def test_every_session_is_told_once() -> None:
    desk = Desk()
    for session_id in (1, 1, 2):
        desk.table.watch_data("/a", session_id, ignore)
    desk.table.fire([desk.create("/a")])
    desk.table.fire([desk.tree.set_data("/a", b"", -1, 2, 2)])
    event = WatchEvent(EventKind.CREATED, "/a")
    assert desk.delivered == [(1, event), (2, event)]
    assert len(desk.table) == 0


def test_two_watches_of_one_session_are_both_told() -> None:
    desk = Desk()
    heard: list[WatchEvent] = []
    desk.table.watch_children("/", 1, ignore)
    desk.table.watch_children("/", 1, heard.append)
    desk.table.fire([desk.create("/a")])
    assert heard == [WatchEvent(EventKind.CHILDREN_CHANGED, "/")]
    assert len(desk.delivered) == 2


def test_a_session_takes_only_its_own_watches_with_it() -> None:
    desk = Desk()
    for session_id in (1, 2):
        desk.table.watch_data("/a", session_id, ignore)
        desk.table.watch_children("/", session_id, ignore)
    desk.table.watch_data("/only", 1, ignore)
    desk.table.forget(1)
    assert len(desk.table) == 2
    desk.table.fire([desk.create("/a")])
    assert [session_id for session_id, _ in desk.delivered] == [2, 2]


def test_a_removed_znode_tells_its_own_watchers_before_its_parents() -> None:
    desk = Desk()
    desk.create("/a")
    desk.table.watch_children("/", 1, ignore)
    desk.table.watch_data("/a", 1, ignore)
    desk.table.watch_children("/a", 2, ignore)
    desk.table.fire([desk.tree.delete("/a", -1, 2)])
    assert desk.delivered == [
        (1, WatchEvent(EventKind.DELETED, "/a")),
        (2, WatchEvent(EventKind.DELETED, "/a")),
        (1, WatchEvent(EventKind.CHILDREN_CHANGED, "/")),
    ]
