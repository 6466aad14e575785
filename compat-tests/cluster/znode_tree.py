"""The tree of a cluster in ZooKeeper, and what a step of the recorded tree of Apache Kafka changed.

`../shared/golden/zookeeper/trees-*`: what fifty operations left in the tree of three brokers of
Apache Kafka 3.9.1. Ids, times, addresses and the numbers of notifications are different each
time; so is where Kafka puts replicas that nobody has placed.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden" / "zookeeper"
OF_SECURITY = ("/kafka-acl", "/delegation_token")
"""Of an authorizer and of delegation tokens, which the recorded brokers had."""
WHEN_USED_UP = "/latest_producer_id_block"
"""Who takes the next block of producer ids, and when, depends on who coordinates."""
PLACED_BY_KAFKA = ("/brokers/topics/__", "/config/topics/__")
_ELSEWHERE = re.compile(
    r'"topic_id":"[^"]+"|"timestamp":"\d+"|"broker":\d+|"brokerid":\d+|"id":"[^"]{22}"'
)
_NOTIFICATION = re.compile(r"\d{10}$")


class Znode(NamedTuple):
    """`version` counts the writes of its body."""

    data: str | None
    version: int
    is_ephemeral: bool


Tree = dict[str, Znode]


class Change(NamedTuple):
    """What a step did to the tree; of what differs each time nothing is told."""

    added: dict[str, Znode]
    changed: dict[str, Znode]
    removed: list[str]

    def differences(self, expected: Change) -> list[str]:
        """A line for each znode that is not as expected."""
        lines = [f"removed: {path}" for path in set(self.removed) ^ set(expected.removed)]
        for was, wanted in ((self.added, expected.added), (self.changed, expected.changed)):
            for path in sorted(was.keys() | wanted.keys()):
                if was.get(path) != wanted.get(path):
                    lines.append(f"{path}: {was.get(path)}, not {wanted.get(path)}")
        return lines


def tree_of(zookeeper: KazooClient, root: str) -> Tree:
    """All znodes below a root, by their paths from there."""
    found: Tree = {}
    waiting = [root]
    while waiting:
        path = waiting.pop()
        try:
            data, stat = zookeeper.get(path)
            children = zookeeper.get_children(path)
        except NoNodeError:  # gone meanwhile
            continue
        text = data.decode() if data else None
        found[path[len(root) :] or "/"] = Znode(text, stat.version, stat.ephemeralOwner != 0)
        waiting += [f"{path}/{child}" for child in children]
    return found


def between(before: Tree, after: Tree) -> Change:
    """What has become of a tree."""
    return Change(
        added=_shown({path: after[path] for path in after.keys() - before.keys()}),
        changed=_shown(
            {
                path: after[path]
                for path in after.keys() & before.keys()
                if after[path] != before[path]
            }
        ),
        removed=sorted(before.keys() - after.keys()),
    )


def recorded(protocol: str) -> dict[str, Change]:
    """What each step changed; skips where the recording is not beside the repository."""
    path = GOLDEN / f"trees-ibp{protocol}.jsonl.gz"
    if not path.is_file():
        pytest.skip("the golden data is not beside the repository (../shared/golden)")
    with gzip.open(path, "rt") as lines:
        steps = [json.loads(line) for line in lines]
    return {
        step["after"]: Change(
            _shown(_znodes(step["added"])),
            _shown(_znodes(step["changed"])),
            sorted(step["removed"]),
        )
        for step in steps
    }


def replicas(protocol: str, step: str, topic: str) -> list[list[int]]:
    """Where the recorded topic had its replicas after that step."""
    change = recorded(protocol)[step]
    body = (change.added | change.changed)[f"/brokers/topics/{topic}"].data
    assert body is not None
    found: dict[str, list[int]] = json.loads(body)["partitions"]
    return [found[str(partition)] for partition in range(len(found))]


def _znodes(rows: dict[str, dict[str, Any]]) -> Tree:
    return {
        path: Znode(row["data"], row.get("version", 0), "ephemeral" in row)
        for path, row in rows.items()
    }


def _shown(tree: Tree) -> Tree:
    shown: Tree = {}
    for path, znode in tree.items():
        data, version = znode.data, znode.version
        if path.startswith(OF_SECURITY) or path == WHEN_USED_UP:
            continue
        if path.startswith("/brokers/ids/"):
            data = ",".join(name for name in json.loads(data or "{}") if name != "rack")
        if path.startswith(PLACED_BY_KAFKA):
            data, version = None, 0
        if data is not None:
            data = _ELSEWHERE.sub(lambda found: found[0].partition(":")[0] + ':"#"', data)
        shown[_NOTIFICATION.sub(f" of {data}", path)] = Znode(data, version, znode.is_ephemeral)
    return shown
