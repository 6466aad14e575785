"""The controller: one event at a time in, leaders and partition states out.

What happens in the registry (a topic appears, grows, is marked for deletion) arrives as an
event on one queue; decisions are pure functions; results are written back to the registry,
fenced by the controller's epoch, and handed to the brokers: to this one by a direct call.
So far it knows one broker: its own. Requests to others come with replication.

An event that fails is served again (`retried_events`). When the office is lost, because another
broker has been elected or because the session with the registry has ended, all events go, and
this broker stands for election again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from barnabas.server.cluster.elections import offline_leader
from barnabas.server.cluster.metadata import NO_LEADER, ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.cluster.retried_events import RetriedEvents
from barnabas.server.core.clock import Clock
from barnabas.server.observing.logs import Log
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import PartitionState, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import SessionState, WatchEvent
from barnabas.wire.uuids import ZERO_UUID

FIRST_LEADER_EPOCH = 0
NO_CONTROLLER = -1
TOPICS_AT_ONCE = 500  # between two batches other work gets its turn

NO_STATE = PartitionState(NO_LEADER, -1, [], 0)

States = dict[tuple[str, int], VersionedState]


class TopicSink(Protocol):
    """Whoever carries out what the controller decided: this broker.

    Both may be told the same thing twice.
    """

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
        clock: Clock,
        log: Log,
        *,
        rejoin: Callable[[], Awaitable[None]],
    ) -> None:
        """`rejoin` registers the broker anew when its session with the registry has ended."""
        self._broker_id = broker_id
        self._registry = registry
        self._metadata = metadata
        self._sink = sink
        self._clock = clock
        self._log = log
        self._rejoin = rejoin
        self._events = RetriedEvents(clock, log, self._lose_office)
        self._is_running = False
        self.epoch: ControllerEpoch | None = None

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self.epoch is not None

    async def start(self) -> None:
        """Stand for election; the winner takes stock of all topics."""
        self._registry.store.on_session(self._session_changed)
        self._is_running = True
        await self._stand()
        self._events.start()

    async def stop(self) -> None:
        """Finish the event in hand, then resign."""
        self._is_running = False
        await self._events.stop()
        if self.epoch is not None:
            epoch, self.epoch = self.epoch, None
            await self._registry.controller.resign(epoch)

    def abandon(self) -> None:
        """Stop at once, as a crash would."""
        self._is_running = False
        self._events.abandon()
        self.epoch = None

    # The office.

    async def _stand(self) -> None:
        """Become controller, or learn who is and wait for the office to be free."""
        controllers = self._registry.controller
        if self.epoch is None:
            self.epoch = await controllers.elect(self._broker_id, self._clock.now_ms())
        if self.epoch is not None:
            await self._take_office(self.epoch)
            return
        active = await controllers.read(self._office_changed)
        self._metadata.controller_id = active.broker_id if active else NO_CONTROLLER
        if active is None:
            self._events.put("stand for election", self._stand)

    async def _take_office(self, epoch: ControllerEpoch) -> None:
        """Bring every topic in line with what the registry says."""
        self._metadata.controller_id = self._broker_id
        self._log.info("became controller", epoch=epoch.epoch)
        await self._registry.cluster.ensure_feature()
        await self._delete_marked()
        names = await self._registry.topics.names(self._topics_changed)
        for name in self._metadata.topics.keys() - set(names):
            await self._sink.topic_deleted(self._metadata.topics[name])
        await self._read_and_lead(names)

    def _lose_office(self, why: ControllerMoved) -> None:
        """Decide nothing any more, and stand again."""
        self._log.error("lost the office of controller", why=why)
        self._leave_office()
        self._events.put("stand for election", self._stand)

    def _leave_office(self) -> None:
        self.epoch = None
        self._metadata.controller_id = NO_CONTROLLER
        self._events.clear()

    def _session_changed(self, state: SessionState, _: int) -> None:
        """A session that ended took the registration, the office and all watches with it."""
        if state is not SessionState.LOST or not self._is_running:
            return
        self._log.error("the session with the registry has ended")
        self._leave_office()
        self._events.put("register again", self._rejoin)
        self._events.put("stand for election", self._stand)

    def _in_office(self) -> ControllerEpoch:
        """The epoch to write with; raises ControllerMoved when it was lost meanwhile."""
        if self.epoch is None:
            raise ControllerMoved("this broker is not the controller any more")
        return self.epoch

    # Watches only put an event on the queue.

    def _office_changed(self, _: WatchEvent) -> None:
        self._events.put("stand for election", self._stand)

    def _topics_changed(self, _: WatchEvent) -> None:
        self._events.put("take stock of the topics", self._take_stock)

    def _deletions_changed(self, _: WatchEvent) -> None:
        self._events.put("look for topics to delete", self._delete_marked)

    def _assignment_changed(self, event: WatchEvent) -> None:
        name = event.path[len(paths.TOPICS) + 1 :]
        self._events.put(f"look at topic {name}", partial(self._read_and_lead, [name]))

    # What the events do.

    async def _take_stock(self) -> None:
        """Find topics that are new and give their partitions leaders."""
        names = await self._registry.topics.names(self._topics_changed)
        known = self._metadata.topics
        await self._read_and_lead([name for name in names if name not in known])

    async def _read_and_lead(self, names: Sequence[str]) -> None:
        """Lead the partitions that topics have now; those on their way out are left alone."""
        doomed = set(await self._registry.topics.marked_for_deletion())
        wanted = [name for name in names if name not in doomed]
        for start in range(0, len(wanted), TOPICS_AT_ONCE):
            assignments = {}
            for name in wanted[start : start + TOPICS_AT_ONCE]:
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
            try:
                await self._sink.topic_changed(_topic_info(name, topic, states))
            except Exception as error:  # the topics after it are led all the same
                again = partial(self._read_and_lead, [name])
                self._events.failed(f"look at topic {name}", again, error)

    async def _create_states(self, assignments: dict[str, TopicAssignment], states: States) -> None:
        """First states of partitions that have none: the first live replica leads."""
        epoch = self._in_office()
        fresh = {}
        for name, topic in assignments.items():
            for index, replicas in topic.replicas.items():
                if (name, index) not in states:
                    isr = [replica for replica in replicas if replica == self._broker_id]
                    leader = isr[0] if isr else NO_LEADER
                    fresh[name, index] = PartitionState(
                        leader, FIRST_LEADER_EPOCH, isr, epoch.epoch
                    )
        if not fresh:
            return
        for refusal in (await self._registry.partitions.create(fresh, epoch)).values():
            raise refusal  # somebody else has made it, or its topic is gone: look again
        states.update({key: VersionedState(state, 0) for key, state in fresh.items()})

    async def _elect_leaders(self, assignments: dict[str, TopicAssignment], states: States) -> None:
        """A controller's start begins a new epoch for the partitions that it finds."""
        epoch = self._in_office()
        changed = {}
        for (name, index), versioned in states.items():
            state = versioned.state
            if state.controller_epoch == epoch.epoch:
                continue
            replicas = assignments[name].replicas[index]
            leader, _ = offline_leader(replicas, state.isr, (self._broker_id,), unclean=False)
            elected = state._replace(
                leader=leader,
                leader_epoch=state.leader_epoch + 1,
                isr=[leader] if leader != NO_LEADER else state.isr,
                controller_epoch=epoch.epoch,
            )
            changed[name, index] = VersionedState(elected, versioned.partition_epoch)
        if not changed:
            return
        outcomes = await self._registry.partitions.write(changed, epoch)
        for key, outcome in outcomes.items():
            if not isinstance(outcome, int):
                raise outcome  # somebody else wrote, or the topic is gone: look again
            states[key] = VersionedState(changed[key].state, outcome)

    async def _delete_marked(self) -> None:
        """Remove the topics that are marked for deletion."""
        for name in await self._registry.topics.marked_for_deletion(self._deletions_changed):
            await self._events.attempt(f"delete topic {name}", partial(self._delete, name))

    async def _delete(self, name: str) -> None:
        """Take a topic's logs out of use, then forget it; cut short anywhere, it is repeated.

        After a crash nobody but the registry knows the topic, and its logs are there all the
        same: they have to go before the mark does.
        """
        stored = await self._registry.topics.read(name)
        found = [] if stored is None else [_topic_info(name, stored.assignment, {})]
        if name in self._metadata.topics:
            found.append(self._metadata.topics[name])
        if found:
            await self._sink.topic_deleted(max(found, key=lambda topic: len(topic.partitions)))
        await self._registry.topics.delete(name, self._in_office())
        self._log.info("deleted topic", topic=name)


def _topic_info(name: str, topic: TopicAssignment, states: States) -> TopicInfo:
    """What clients are told of a topic; a partition without a state has no leader."""
    infos = []
    for index, replicas in sorted(topic.replicas.items()):
        versioned = states.get((name, index))
        state = versioned.state if versioned else NO_STATE
        leader, epoch, isr = state.leader, state.leader_epoch, tuple(state.isr)
        infos.append(PartitionInfo(index, leader, epoch, tuple(replicas), isr))
    return TopicInfo(name, topic.topic_id or ZERO_UUID, tuple(infos))
