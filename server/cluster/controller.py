"""The controller: one event at a time in, leaders and partition states out.

What happens in the registry (a topic appears, grows, is marked for deletion) arrives as an
event on one queue; decisions are pure functions; results are written back to the registry,
fenced by the controller's epoch, and handed to the brokers: to this one by a direct call.
So far it knows one broker: its own. Requests to others come with replication.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from barnabas.server.cluster.elections import NO_LEADER, offline_leader
from barnabas.server.cluster.metadata import ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.logs import Log
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import PartitionState, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.store import WatchEvent
from barnabas.wire.uuids import ZERO_UUID

FIRST_LEADER_EPOCH = 0
TOPICS_AT_ONCE = 500  # between two batches other work gets its turn

States = dict[tuple[str, int], VersionedState]


class TopicSink(Protocol):
    """Whoever carries out what the controller decided: this broker."""

    async def topic_changed(self, topic: TopicInfo) -> None:
        """A topic is new, has more partitions, or other leaders."""

    async def topic_deleted(self, topic: TopicInfo) -> None:
        """A topic is gone."""


class Controller:
    """The controller's side of this broker; does nothing unless elected."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        metadata: ClusterMetadata,
        sink: TopicSink,
        log: Log,
    ) -> None:
        self._broker_id = broker_id
        self._registry = registry
        self._metadata = metadata
        self._sink = sink
        self._log = log
        self._events: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self.epoch: ControllerEpoch | None = None

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self.epoch is not None

    async def start(self, now_ms: int) -> None:
        """Stand for election; the winner takes stock of all topics."""
        self.epoch = await self._registry.controller.elect(self._broker_id, now_ms)
        if self.epoch is None:
            return
        self._metadata.controller_id = self._broker_id
        self._log.info("became controller", epoch=self.epoch.epoch)
        await self._registry.cluster.ensure_feature()
        await self._delete_marked()
        await self._take_stock()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Finish the event in hand, then resign."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self.epoch is not None:
            epoch, self.epoch = self.epoch, None
            await self._registry.controller.resign(epoch)

    def abandon(self) -> None:
        """Stop at once, as a crash would."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.epoch = None

    async def _run(self) -> None:
        while True:
            event = await self._events.get()
            try:
                await event()
            except Exception as error:  # the next event must still be served
                self._log.unexpected("an event failed", error)

    # Watches only put an event on the queue.

    def _topics_changed(self, _: WatchEvent) -> None:
        self._events.put_nowait(self._take_stock)

    def _deletions_changed(self, _: WatchEvent) -> None:
        self._events.put_nowait(self._delete_marked)

    def _assignment_changed(self, event: WatchEvent) -> None:
        name = event.path[len(paths.TOPICS) + 1 :]
        self._events.put_nowait(lambda: self._look_again(name))

    # What the events do.

    async def _take_stock(self) -> None:
        """Find topics that are new and give their partitions leaders."""
        names = await self._registry.topics.names(self._topics_changed)
        known = self._metadata.topics
        await self._read_and_lead([name for name in names if name not in known])

    async def _look_again(self, name: str) -> None:
        """A topic's assignment changed: it may have more partitions."""
        await self._read_and_lead([name])

    async def _read_and_lead(self, names: list[str]) -> None:
        for start in range(0, len(names), TOPICS_AT_ONCE):
            assignments = {}
            for name in names[start : start + TOPICS_AT_ONCE]:
                topic = await self._registry.topics.read(name, self._assignment_changed)
                if topic is not None:
                    assignments[name] = topic.assignment
            await self._lead(assignments)
            await asyncio.sleep(0)

    async def _lead(self, assignments: dict[str, TopicAssignment]) -> None:
        """Give every partition of these topics a state, and hand the topics on."""
        keys = [(name, index) for name, topic in assignments.items() for index in topic.replicas]
        states = await self._registry.partitions.read(keys)
        await self._create_states(assignments, states)
        await self._elect_leaders(assignments, states)
        for name, topic in assignments.items():
            infos = tuple(
                _info(index, topic.replicas[index], states[name, index].state)
                for index in sorted(topic.replicas)
            )
            await self._sink.topic_changed(TopicInfo(name, topic.topic_id or ZERO_UUID, infos))

    async def _create_states(self, assignments: dict[str, TopicAssignment], states: States) -> None:
        """First states of partitions that have none: the first live replica leads."""
        assert self.epoch is not None
        fresh = {}
        for name, topic in assignments.items():
            for index, replicas in topic.replicas.items():
                if (name, index) not in states:
                    isr = [replica for replica in replicas if replica == self._broker_id]
                    leader = isr[0] if isr else NO_LEADER
                    fresh[name, index] = PartitionState(
                        leader, FIRST_LEADER_EPOCH, isr, self.epoch.epoch
                    )
        if fresh:
            await self._registry.partitions.create(fresh, self.epoch)
            states.update({key: VersionedState(state, 0) for key, state in fresh.items()})

    async def _elect_leaders(self, assignments: dict[str, TopicAssignment], states: States) -> None:
        """A controller's start begins a new epoch for the partitions that it finds."""
        assert self.epoch is not None
        changed = {}
        for (name, index), versioned in states.items():
            state = versioned.state
            if state.controller_epoch == self.epoch.epoch:
                continue
            replicas = assignments[name].replicas[index]
            leader, _ = offline_leader(replicas, state.isr, (self._broker_id,), unclean=False)
            elected = state._replace(
                leader=leader,
                leader_epoch=state.leader_epoch + 1,
                isr=[leader] if leader != NO_LEADER else state.isr,
                controller_epoch=self.epoch.epoch,
            )
            changed[name, index] = VersionedState(elected, versioned.partition_epoch)
        if not changed:
            return
        outcomes = await self._registry.partitions.write(changed, self.epoch)
        for key, outcome in outcomes.items():
            if isinstance(outcome, int):
                states[key] = VersionedState(changed[key].state, outcome)

    async def _delete_marked(self) -> None:
        """Remove the topics that are marked for deletion."""
        assert self.epoch is not None
        for name in await self._registry.topics.marked_for_deletion(self._deletions_changed):
            topic = self._metadata.topics.get(name)
            if topic is not None:
                await self._sink.topic_deleted(topic)
            await self._registry.topics.delete(name, self.epoch)
            self._log.info("deleted topic", topic=name)


def _info(index: int, replicas: Sequence[int], state: PartitionState) -> PartitionInfo:
    return PartitionInfo(index, state.leader, state.leader_epoch, tuple(replicas), tuple(state.isr))
