"""Three brokers on one tree, to which things happen at random: afterwards all agree.

They are started, stopped and killed, lose connections, sessions and the office, while topics come
and go. When all are up again there is one controller, every broker's metadata is the same, and
each leads and follows exactly what that says.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry import paths
from barnabas.server.registry.znodes.store import NoNode
from tests.server.cluster.cluster import Cluster, cluster_of, session_of
from tests.server.waiting import eventually

BROKERS = 3
ROUNDS = 10


class History:
    """What happens, by one seed."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.random = random.Random(seed)
        self.topics: set[str] = set()
        self.made = 0

    async def happens(self) -> None:
        """One event more."""
        events: list[Callable[[Broker], Awaitable[None]]] = [
            self.starts, self.stops, self.crashes, self.loses_session, self.loses_connection,
            self.loses_office, self.creates, self.creates, self.deletes,
        ]  # fmt: skip
        broker = self.random.choice(list(self.cluster.brokers.values()))
        await self.random.choice(events)(broker)
        if self.random.random() < 0.5:
            await asyncio.sleep(self.random.random() / 100)

    async def starts(self, _: Broker) -> None:
        for broker_id in set(range(BROKERS)) - set(self.cluster.brokers):
            try:
                await self.cluster.start(broker_id)
            except StartFailed as error:
                assert "is registered by another session" in str(error)

    async def stops(self, broker: Broker) -> None:
        if len(self.cluster.brokers) > 1:
            await self.cluster.stop(broker)

    async def crashes(self, broker: Broker) -> None:
        if len(self.cluster.brokers) > 1:
            await self.cluster.crash(broker)

    async def loses_session(self, broker: Broker) -> None:
        self.cluster.ensemble.end_session(broker.registry.store.session_id)

    async def loses_connection(self, broker: Broker) -> None:
        session_of(broker).suspend()
        await asyncio.sleep(self.random.random() / 100)
        if self.random.random() < 0.5:
            self.cluster.let_sessions_expire()
        session_of(broker).resume()

    async def loses_office(self, _: Broker) -> None:
        try:
            await self.cluster.ensemble.connect().delete(paths.CONTROLLER)
        except NoNode:
            return

    async def creates(self, broker: Broker) -> None:
        self.made += 1
        name, factor = f"t{self.made}", self.random.randint(1, 2)
        replicas = {n: self.random.sample(range(BROKERS), factor) for n in range(factor + 1)}
        await broker.topics.create(name, replicas, {})
        self.topics.add(name)

    async def deletes(self, broker: Broker) -> None:
        if self.topics:
            name = self.random.choice(sorted(self.topics))
            await broker.registry.topics.mark_for_deletion(name)
            self.topics.discard(name)

    def all_agree(self) -> bool:
        """Whether there is one controller, and everybody knows it and the same topics."""
        brokers = list(self.cluster.brokers.values())
        active = [each.broker_id for each in brokers if each.controller.is_active]
        known = [
            (each.metadata.controller_id, sorted(each.metadata.brokers), shown(each))
            for each in brokers
        ]
        expected = (active[0], list(range(BROKERS)), known[0][2]) if len(active) == 1 else None
        return (
            all(each == expected for each in known)
            and set(known[0][2]) == self.topics
            and all(map(hosts_what_it_should, brokers))
        )


def shown(broker: Broker) -> dict[str, Any]:
    """The topics in a broker's metadata."""
    return {topic.name: topic.partitions for topic in broker.metadata.topics.values()}


def hosts_what_it_should(broker: Broker) -> bool:
    """Whether it leads and follows what its metadata says, and everything has a leader."""
    for topic in broker.metadata.topics.values():
        for info in topic.partitions:
            held = broker.replicas.find(topic.name, info.index)
            if info.leader_id not in info.isr or (held is None) != (
                broker.broker_id not in info.replicas
            ):
                return False
            if held is not None and (held.is_leader, held.leader_epoch) != (
                info.leader_id == broker.broker_id,
                info.leader_epoch,
            ):
                return False
    return True


@pytest.mark.broker_says(
    "the session with the registry has ended|lost the office of controller|ConnectionLoss"
    "|is no partition of this broker|an event failed and is tried again"
)
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_all_agree_when_all_are_up(tmp_path: Path, seed: int) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, BROKERS) as cluster:
            history = History(cluster, seed)
            for _ in range(ROUNDS):
                for _ in range(5):
                    await history.happens()
                cluster.let_sessions_expire()
                await history.starts(next(iter(cluster.brokers.values())))
                await eventually(partial(History.all_agree, history), 30)

    asyncio.run(scene())
