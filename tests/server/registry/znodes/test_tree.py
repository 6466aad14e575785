"""The tree against a model that states ZooKeeper's rules as plainly as it can."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.server.registry.znodes import tree as trees
from barnabas.server.registry.znodes.store import (
    BadArguments,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Stat,
    ZnodeError,
)
from barnabas.server.registry.znodes.tree import Change, Tree


@dataclass(frozen=True)
class ModelNode:
    data: bytes | None
    owner: int
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int = 0
    created: int = 0
    deleted: int = 0


@dataclass
class Model:
    """All znodes by path; every operation checks first and changes after."""

    nodes: dict[str, ModelNode] = field(
        default_factory=lambda: {"/": ModelNode(b"", 0, 0, 0, 0, 0, 0)}
    )

    def parent(self, path: str) -> str:
        return path[: path.rindex("/")] or "/"

    def children(self, path: str) -> set[str]:
        return {p for p in self.nodes if p != "/" and self.parent(p) == path}

    def create(self, path: str, data: bytes | None, owner: int, sequential: bool, at: int) -> str:
        parent = self.parent(path)
        if parent not in self.nodes:
            raise NoNode(path)
        if sequential:
            path += f"{self.nodes[parent].created:010}"
        if path in self.nodes:
            raise NodeExists(path)
        if self.nodes[parent].owner:
            raise NoChildrenForEphemerals(path)
        self.nodes[path] = ModelNode(data, owner, at, at, at, at * 10, at * 10)
        self.touch_parent(parent, at, created=1)
        return path

    def set(self, path: str, data: bytes | None, version: int, at: int) -> None:
        node = self.expect(path, version)
        self.nodes[path] = replace(
            node, data=data, version=node.version + 1, mzxid=at, mtime=at * 10
        )

    def delete(self, path: str, version: int, at: int) -> None:
        self.expect(path, version)
        if self.children(path):
            raise NotEmpty(path)
        del self.nodes[path]
        self.touch_parent(self.parent(path), at, deleted=1)

    def expect(self, path: str, version: int) -> ModelNode:
        if path not in self.nodes:
            raise NoNode(path)
        if version not in (-1, self.nodes[path].version):
            raise BadVersion(path)
        return self.nodes[path]

    def touch_parent(self, path: str, at: int, created: int = 0, deleted: int = 0) -> None:
        node = self.nodes[path]
        self.nodes[path] = replace(
            node, pzxid=at, created=node.created + created, deleted=node.deleted + deleted
        )

    def stat(self, path: str) -> Stat:
        node = self.nodes[path]
        return Stat(
            node.czxid,
            node.mzxid,
            node.ctime,
            node.mtime,
            node.version,
            node.created + node.deleted,
            0,
            node.owner,
            len(node.data or b""),
            len(self.children(path)),
            node.pzxid,
        )


names = st.sampled_from("abc")
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
datas = st.none() | st.sampled_from([b"", b"x", b"yy"])
versions = st.integers(-1, 2)
owners = st.sampled_from([0, 0, 0, 7, 8])


class TreeMachine(RuleBasedStateMachine):
    """Transactions on both, of which some are taken back on the tree and never reach the model."""

    @initialize()
    def begin(self) -> None:
        self.tree = Tree()
        self.model = Model()
        self.zxid = 0
        self.changes: list[Change] = []

    def both(self, on_tree: Any, on_model: Any) -> None:
        self.zxid += 1
        expected = refusal = None
        try:
            expected = on_model(self.zxid)
        except ZnodeError as error:
            refusal = error
        if refusal is not None:
            with pytest.raises(type(refusal)) as refused:
                on_tree(self.zxid)
            assert refused.value.path == refusal.path
            return
        change = on_tree(self.zxid)
        self.changes.append(change)
        assert expected is None or change.path == expected

    @rule(path=paths, data=datas, owner=owners, sequential=st.booleans())
    def create(self, path: str, data: bytes | None, owner: int, sequential: bool) -> None:
        self.both(
            lambda at: self.tree.create(path, data, owner, sequential, at, at * 10),
            lambda at: self.model.create(path, data, owner, sequential, at),
        )

    @rule(path=paths, data=datas, version=versions)
    def set(self, path: str, data: bytes | None, version: int) -> None:
        self.both(
            lambda at: self.tree.set_data(path, data, version, at, at * 10),
            lambda at: self.model.set(path, data, version, at),
        )

    @rule(path=paths, version=versions)
    def delete(self, path: str, version: int) -> None:
        self.both(
            lambda at: self.tree.delete(path, version, at),
            lambda at: self.model.delete(path, version, at),
        )

    @rule(path=paths, version=versions)
    def check(self, path: str, version: int) -> None:
        try:
            self.model.expect(path, version)
        except ZnodeError as error:
            with pytest.raises(type(error)):
                self.tree.check(path, version)
        else:
            self.tree.check(path, version)

    @rule()
    def begin_transaction(self) -> None:
        self.changes.clear()
        self.kept = dict(self.model.nodes)

    @rule()
    def take_back(self) -> None:
        if hasattr(self, "kept"):
            self.tree.undo(self.changes)
            self.model.nodes = dict(self.kept)
        self.changes.clear()
        self.kept = dict(self.model.nodes)

    @invariant()
    def they_are_equal(self) -> None:
        if not hasattr(self, "tree"):
            return
        shown = {path: (node.data, node.stat()) for path, node in self.tree.nodes.items()}
        assert shown == {
            path: (node.data, self.model.stat(path)) for path, node in self.model.nodes.items()
        }
        owned = {(o, p) for o, owned in self.tree.ephemerals.items() for p in owned}
        assert owned == {(n.owner, p) for p, n in self.model.nodes.items() if n.owner}
        assert all(self.tree.ephemerals.values())
        for path in self.model.nodes:
            expected = {p.rpartition("/")[2] for p in self.model.children(path)}
            assert set(self.tree.children(path)) == expected

    @invariant()
    def parents_stand_before_their_children(self) -> None:
        if not hasattr(self, "tree"):
            return
        order = {path: index for index, path in enumerate(self.tree.nodes)}
        assert all(
            order[self.model.parent(path)] < index for path, index in order.items() if path != "/"
        )


TreeMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestTree = TreeMachine.TestCase


def test_the_operation_that_ends_a_path_in_a_number_still_checks_the_path() -> None:
    tree = Tree()
    assert tree.create("/", None, trees.PERSISTENT, True, 1, 1).path == "/0000000000"
    with pytest.raises(BadArguments):
        tree.create("/..", None, trees.PERSISTENT, False, 1, 1)
    assert tree.create("/..", None, trees.PERSISTENT, True, 1, 1).path == "/..0000000001"
