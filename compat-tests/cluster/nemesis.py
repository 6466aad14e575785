"""What goes wrong, and when, as a seed decides: each trouble has an end, two may overlap."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from cluster.cluster import Cluster
from cluster.links import ZOOKEEPER, Cut
from cluster.nodes import SESSION_MS, Node, listens

LONG_S = SESSION_MS / 1000 + 6
"""Longer than a session lasts."""
MOST_AT_A_TIME = 2


class Trouble(NamedTuple):
    """One that has begun: which brokers it is about, when it ends, and how."""

    kind: str
    brokers: frozenset[int]
    until: float
    end: Callable[[], None]


class Nemesis:
    """Strikes when it is time to, whenever it is asked."""

    def __init__(self, seed: int, cluster: Cluster) -> None:
        self.counts: Counter[str] = Counter()
        self.diary: list[tuple[float, str]] = []
        """When what happened, in seconds from the start."""
        self._chance = Random(seed)
        self._cluster = cluster
        self._began_at = self._next_at = 0.0
        self._troubles: list[Trouble] = []
        self._choices: list[tuple[int, Callable[[], Trouble | None]]] = [
            (6, self._kill),
            (5, self._pause),
            (3, self._stop),
            (1, self._kill_all),
            (2, self._kill_zookeeper),
            (2, self._pause_zookeeper),
            (4, self._cut_both_ways),
            (4, self._cut_one_way),
            (2, self._isolate),
            (2, self._cut_off_zookeeper),
            (2, self._fill_disk),
        ]

    def begin(self) -> None:
        """From now on there may be trouble."""
        self._began_at = time.monotonic()
        self._next_at = self._began_at + self._chance.uniform(1, 3)

    def look(self) -> None:
        """End what is over, begin what is due."""
        now = time.monotonic()
        for trouble in [each for each in self._troubles if each.until < now]:
            self._end(trouble)
        if now >= self._next_at and len(self._troubles) < MOST_AT_A_TIME:
            self._strike()
            self._next_at = time.monotonic() + self._chance.uniform(1, 6)

    def end_all(self) -> None:
        """At the end of the run."""
        for trouble in list(self._troubles):
            self._end(trouble)

    def _end(self, trouble: Trouble) -> None:
        self._troubles.remove(trouble)
        trouble.end()
        self._note(f"end of {trouble.kind} of {sorted(trouble.brokers)}")

    def _strike(self) -> None:
        weights = [weight for weight, _ in self._choices]
        (_, choice), *_ = self._chance.choices(self._choices, weights)
        if (trouble := choice()) is not None:
            self._troubles.append(trouble)
            self.counts[trouble.kind] += 1
            self._note(f"{trouble.kind} of {sorted(trouble.brokers)}")

    def _note(self, what: str) -> None:
        self.diary.append((round(time.monotonic() - self._began_at, 2), what))

    def _until(self, longest_s: float) -> float:
        return time.monotonic() + self._chance.uniform(0.5, longest_s)

    def _busy(self) -> set[int]:
        return {broker for trouble in self._troubles for broker in trouble.brokers}

    def _free(self) -> list[int]:
        """Brokers that run and are in no trouble."""
        busy = self._busy()
        return [
            broker
            for broker, node in self._cluster.nodes.items()
            if broker not in busy and node.is_wanted and listens(node.ports.client)
        ]

    def _one(self) -> Node | None:
        free = self._free()
        return self._cluster.nodes[self._chance.choice(free)] if free else None

    # --- brokers -----------------------------------------------------------------------

    def _kill(self) -> Trouble | None:
        if (node := self._one()) is None:
            return None
        node.kill()
        return Trouble("kill -9", frozenset([node.broker_id]), self._until(LONG_S), node.spawn)

    def _kill_all(self) -> Trouble | None:
        """As a loss of power of everything would, but for what the kernel has taken."""
        if self._troubles:
            return None
        nodes = list(self._cluster.nodes.values())
        for node in nodes:
            node.kill()

        def start() -> None:
            for node in self._chance.sample(nodes, len(nodes)):
                node.spawn()

        return Trouble("kill -9 of all", frozenset(self._cluster.nodes), self._until(3), start)

    def _pause(self) -> Trouble | None:
        if (node := self._one()) is None:
            return None
        node.pause()
        return Trouble("pause", frozenset([node.broker_id]), self._until(LONG_S), node.resume)

    def _stop(self) -> Trouble | None:
        if (node := self._one()) is None:
            return None
        node.terminate()

        def start() -> None:
            node.stop()
            node.spawn()

        return Trouble("clean stop", frozenset([node.broker_id]), self._until(8), start)

    # --- ZooKeeper ---------------------------------------------------------------------

    def _kill_zookeeper(self) -> Trouble | None:
        if ZOOKEEPER in self._busy():
            return None
        self._cluster.zookeeper.kill()
        end = self._cluster.resume_zookeeper
        return Trouble("ZooKeeper killed", frozenset([ZOOKEEPER]), self._until(LONG_S), end)

    def _pause_zookeeper(self) -> Trouble | None:
        if ZOOKEEPER in self._busy():
            return None
        self._cluster.pause_zookeeper()
        end = self._cluster.resume_zookeeper
        return Trouble("ZooKeeper paused", frozenset([ZOOKEEPER]), self._until(LONG_S), end)

    def _cut_off_zookeeper(self) -> Trouble | None:
        """One broker is: it goes on to serve, and another takes its place meanwhile."""
        free = self._free()
        if not free or ZOOKEEPER in self._busy():
            return None
        broker = self._chance.choice(free)
        return self._cut("cut off from ZooKeeper", [(broker, ZOOKEEPER), (ZOOKEEPER, broker)])

    # --- wires -------------------------------------------------------------------------

    def _pairs(self) -> Iterator[tuple[int, int]]:
        free = self._free()
        return ((one, two) for one in free for two in free if one != two)

    def _cut_both_ways(self) -> Trouble | None:
        pairs = list(self._pairs())
        if not pairs:
            return None
        one, two = self._chance.choice(pairs)
        return self._cut("wire cut both ways", [(one, two), (two, one)])

    def _cut_one_way(self) -> Trouble | None:
        pairs = list(self._pairs())
        if not pairs:
            return None
        direction = self._chance.choice(pairs)
        return self._cut("wire cut one way", [direction], Cut.SILENT)

    def _isolate(self) -> Trouble | None:
        """One broker reaches none of the others, but clients and ZooKeeper."""
        free = self._free()
        if not free:
            return None
        one = self._chance.choice(free)
        others = [broker for broker in self._cluster.nodes if broker != one]
        return self._cut("isolated", [pair for two in others for pair in ((one, two), (two, one))])

    def _cut(self, kind: str, directions: list[tuple[int, int]], how: Cut | None = None) -> Trouble:
        how = how or self._chance.choice(list(Cut))
        self._cluster.links.cut(directions, how)
        brokers = frozenset(end for direction in directions for end in direction)
        end = lambda: self._cluster.links.mend(directions)  # noqa: E731
        return Trouble(f"{kind}, {how.value}", brokers, self._until(LONG_S), end)

    # --- disks -------------------------------------------------------------------------

    def _fill_disk(self) -> Trouble | None:
        free = [broker for broker in self._free() if self._cluster.disks[broker].can_be_filled]
        if not free:
            return None
        broker = self._chance.choice(free)
        disk = self._cluster.disks[broker]
        disk.fill()

        def end() -> None:
            disk.empty()
            self._cluster.nodes[broker].look()

        return Trouble("disk full", frozenset([broker]), self._until(8), end)
