"""Apache Kafka's own ZooKeeper traffic, played to the embedded store.

Three Kafka brokers lived through fifty operations against Apache ZooKeeper; every request, every
refusal and every watch event was recorded. Here the same requests go to an embedded ensemble:
it must refuse the same ones, fire the same watches, and hold the same tree after each step.

Requests of different brokers that were answered at nearly the same time may stand in another
order than they happened: a read is excused if its own step makes or removes the znode, and of
candidates for controller the one plays who won. Everything else must fit.

The recording has only what the brokers did. What tools, a hand or the death of a session did is
seen in its effects: a znode the brokers never made was made before the step, and an event that
the ensemble has no cause for tells of a creation, a deletion or the end of a session.
"""

import collections
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import (
    Check,
    Create,
    Delete,
    NoNode,
    Op,
    SetData,
    WatchEvent,
    ZnodeError,
)
from tests.server.registry import golden

EPHEMERAL, SEQUENTIAL = 1, 2
EVENT_NAMES = {
    "CREATED": "NodeCreated",
    "DELETED": "NodeDeleted",
    "DATA_CHANGED": "NodeDataChanged",
    "CHILDREN_CHANGED": "NodeChildrenChanged",
}
Event = tuple[tuple[int, int], str, str]


class Player:
    """Plays recorded requests to an ensemble and keeps count of the events."""

    def __init__(self) -> None:
        self.ensemble = Ensemble(lambda: 0)
        self.stranger = self.ensemble.connect()
        self.sessions: dict[tuple[int, int], EmbeddedStore] = {}
        self.watches: dict[tuple[int, int], Callable[[WatchEvent], None]] = {}
        self.fired: collections.Counter[Event] = collections.Counter()
        self.expected: collections.Counter[Event] = collections.Counter()
        self.own: set[tuple[str, str]] = set()
        self.elected: str | None = None
        self.excused = 0

    def session(self, key: tuple[int, int]) -> EmbeddedStore:
        """Return the session a broker used; `key` is the broker and its connection."""
        if key not in self.sessions:
            self.sessions[key] = self.ensemble.connect()
            self.watches[key] = lambda event: self.fired.update(
                [(key, EVENT_NAMES[event.kind.name], event.path)]
            )
        return self.sessions[key]

    async def play(self, row: dict[str, Any]) -> None:
        """Send one request, which must be refused as it was then; or understand an event."""
        key = (row["broker"], row["session"])
        store = self.session(key)
        if row["op"] == "EVENT":
            self.expected[key, row["event"], row["path"]] += 1
            await self.explain(row)
            return
        if row["op"] == "multi" and not self.won(row["multi"]):
            return
        refusal = None
        try:
            await self.request(store, row, self.watches[key] if row.get("watch") else None)
        except ZnodeError as error:
            refusal = type(error).__name__
        # How a multi ended was not recorded; the tree after the step tells.
        if row["op"] != "multi" and refusal != row.get("error"):
            self.excuse(row)

    def won(self, ops: list[list[Any]]) -> bool:
        """Whether these operations are no candidacy, or that of the step's last controller."""
        return ops[0][:2] != ["create", "/controller"] or ops[0][2] == self.elected

    def excuse(self, row: dict[str, Any]) -> None:
        """Accept another answer to a read than was recorded if the znode came or went just then."""
        self.excused += 1
        paths = (row["path"], row["path"].rstrip("0123456789"))
        assert row["op"] in ("getData", "exists", "getChildren2"), row
        assert not self.own.isdisjoint((op, path) for op in ("create", "delete") for path in paths)

    async def request(self, store: EmbeddedStore, row: dict[str, Any], watch: Any) -> None:
        operation = row["op"]
        if operation == "multi":
            await store.multi([_op(*op) for op in row["multi"]])
        elif operation in ("create", "setData", "delete"):
            fields = [row[name] for name in ("data", "flags", "version") if name in row]
            await store.multi([_op(operation, row["path"], *fields)])
        elif operation == "getData":
            await store.get(row["path"], watch)
        elif operation == "getChildren2":
            await store.children(row["path"], watch)
        elif operation == "exists":
            if await store.exists(row["path"], watch) is None:
                raise NoNode(row["path"])
        else:
            assert operation == "close"
            await store.close()

    async def explain(self, row: dict[str, Any]) -> None:
        """Do what somebody unseen must have done for this event to come."""
        path, nodes = row["path"], self.ensemble.tree.nodes
        # An event is sent before the answer to the request that caused it.
        if row["event"] == "NodeCreated" and ("create", path) not in self.own:
            await self.stranger.create(path, b"{}")
        elif row["event"] == "NodeDeleted" and path in nodes and ("delete", path) not in self.own:
            if row["step"] == "controller-znode-deleted":
                await self.stranger.delete(path)
            else:
                await self.owner_of(nodes[path].ephemeral_owner).close()

    def owner_of(self, session_id: int) -> EmbeddedStore:
        return next(s for s in self.sessions.values() if s.session_id == session_id)

    async def prepare(self, step: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Make what the step added and no broker made: the work of a tool."""
        self.own = _touched(rows)
        self.elected = (step["added"] | step["changed"]).get("/controller", {}).get("data")
        for path, znode in sorted(step["added"].items()):
            sequential = ("create", path.rstrip("0123456789"))
            if path != "/" and self.own.isdisjoint([("create", path), sequential]):
                data = znode["data"]
                await self.stranger.create(path, None if data is None else data.encode())


def _touched(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return what these requests create and delete themselves."""
    operations = [(row["op"], row.get("path", "")) for row in rows]
    return {(op[0], op[1]) for row in rows for op in row.get("multi", [])}.union(operations)


def _op(operation: str, path: str, *fields: Any) -> Op:
    if operation == "create":
        data, flags = fields
        return Create(path, data.encode(), bool(flags & EPHEMERAL), bool(flags & SEQUENTIAL))
    if operation == "setData":
        data, version = fields
        return SetData(path, data.encode(), version)
    if operation == "check":
        return Check(path, *fields)
    return Delete(path, *fields)


@pytest.mark.parametrize("protocol", golden.PROTOCOLS, ids=str)
async def test_the_same_traffic_has_the_same_effect(protocol: ProtocolVersion) -> None:
    player = Player()
    tree: dict[str, tuple[str, int, bool]] = {}
    for step in golden.steps(protocol):
        rows = [row for row in golden.requests(protocol) if row["step"] == step["after"]]
        await player.prepare(step, rows)
        for row in rows:
            await player.play(row)
        for path, znode in (step["added"] | step["changed"]).items():
            tree[path] = (znode["data"] or "", znode.get("version", 0), "ephemeral" in znode)
        for path in step["removed"]:
            del tree[path]
        assert _shown(player.ensemble) == tree, step["after"]
    assert player.excused < 10
    assert player.fired - player.expected == collections.Counter()
    # A read that came early here set its watch too early for the event it got then.
    assert (player.expected - player.fired).total() <= player.excused


def _shown(ensemble: Ensemble) -> dict[str, tuple[str, int, bool]]:
    return {
        path: ((node.data or b"").decode(), node.version, bool(node.ephemeral_owner))
        for path, node in ensemble.tree.nodes.items()
    }
