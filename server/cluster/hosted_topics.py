"""The topics of one broker, kept in line with the registry: what its controller's events do.

In office the broker decides: it gives partitions their states and leaders, and removes topics
that are marked. Out of it, it follows what the controller has written. Either way the outcome
goes to the sink, which hosts what is this broker's.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from barnabas.server.cluster import leaders
from barnabas.server.cluster.live_brokers import LiveBrokers
from barnabas.server.cluster.metadata import ClusterMetadata, TopicInfo
from barnabas.server.cluster.retried_events import RetriedEvents
from barnabas.server.observing.logs import Log
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import PartitionState, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import WatchEvent

TOPICS_AT_ONCE = 500  # between two batches other work gets its turn


class TopicSink(Protocol):
    """Whoever carries out what the controller decided: this broker.

    Both may be told the same thing twice.
    """

    async def topic_changed(self, topic: TopicInfo) -> None:
        """A topic is new, has more partitions, or other leaders."""

    async def topic_deleted(self, topic: TopicInfo) -> None:
        """A topic is gone."""


class HostedTopics:
    """All topics, as this broker leads, follows or only knows them."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        metadata: ClusterMetadata,
        sink: TopicSink,
        log: Log,
        events: RetriedEvents,
        office: Callable[[], ControllerEpoch | None],
    ) -> None:
        """`office` is the epoch of this broker as controller, None while it is not."""
        self._broker_id = broker_id
        self._registry = registry
        self._metadata = metadata
        self._sink = sink
        self._log = log
        self._events = events
        self._office = office
        self._life, self._life_known = 1, 0  # counted by sessions; in which all has been learned
        self._changed: dict[str, None] = {}  # topics to look at, in the order of their watches
        self._watched: set[str] = set()  # topics of which a change will be told
        self._live = LiveBrokers(broker_id, registry.brokers, metadata)
        self._gone: set[int] = set()  # brokers whose partitions have not been looked at since
        self._come: set[int] = set()
        self._electable: frozenset[int] = frozenset()

    async def learn(self) -> None:
        """Bring every topic in line with what the registry says."""
        life = self._life
        await self._see_brokers()
        self._gone.clear()
        self._come.clear()
        self._electable = self._live.ids
        if self._office() is not None:
            await self._delete_marked()
        await self._read_topics(await self._take_away_deleted())
        self._life_known = life

    def forget_events(self) -> None:
        """The queue has been cleared: what was to be looked at is learned anew."""
        self._changed.clear()
        self._watched.clear()

    def begin_anew(self) -> None:
        """The session is over, and with it what this broker led in it."""
        self._life += 1

    def _in_office(self) -> ControllerEpoch:
        """The epoch to write with; raises ControllerMoved when it was lost meanwhile."""
        if (epoch := self._office()) is None:
            raise ControllerMoved("this broker is not the controller any more")
        return epoch

    # Watches only put an event on the queue.

    def _topics_changed(self, _: WatchEvent) -> None:
        self._events.put("take stock of the topics", self._take_stock)

    def _deletions_changed(self, _: WatchEvent) -> None:
        self._events.put("look for topics to delete", self._delete_marked)

    def _brokers_changed(self, _: WatchEvent) -> None:
        self._events.put("look at the live brokers", self._look_at_brokers)

    def _topic_changed(self, event: WatchEvent) -> None:
        """Its assignment has changed or, for who follows, the state of one of its partitions."""
        name = event.path[len(paths.TOPICS) + 1 :].partition("/")[0]
        self._watched.discard(name)
        if not self._changed:
            self._events.put("look at topics that changed", self._look_at_changed)
        self._changed[name] = None

    # What the events do.

    async def _take_stock(self) -> None:
        """Find topics that are new, and those that are gone.

        One that was made again since its end was told has a known name, and nobody watches it.
        """
        names = await self._take_away_deleted()
        settled = self._watched & self._metadata.topics.keys()
        await self._read_topics([name for name in names if name not in settled])

    async def _take_away_deleted(self) -> list[str]:
        """Forget the topics that are not in the registry any more; which are."""
        names = await self._registry.topics.names(self._topics_changed)
        for name in self._metadata.topics.keys() - set(names):
            await self._sink.topic_deleted(self._metadata.topics[name])
        return names

    async def _look_at_changed(self) -> None:
        names, self._changed = self._changed, {}
        try:
            await self._read_topics(list(names))
        except BaseException:
            self._changed = names | self._changed
            raise

    async def _look_at_brokers(self) -> None:
        """Brokers have come or gone: elect for their partitions, and tell clients.

        Those that have restarted are gone first, so that what they led begins a new epoch.
        """
        await self._see_brokers()
        self._electable = self._live.ids - self._come
        await self._read_topics(self._topics_on(self._gone))
        self._gone.clear()
        self._electable = self._live.ids
        await self._read_topics(self._topics_on(self._come))
        self._come.clear()

    async def _see_brokers(self) -> None:
        gone, come = await self._live.look(self._brokers_changed)
        self._gone |= gone
        self._come |= come
        if gone or come:
            live = ",".join(map(str, sorted(self._live.ids)))
            self._log.info("the live brokers have changed", live=live)

    def _topics_on(self, brokers: set[int]) -> list[str]:
        """The topics with a replica on one of the brokers."""
        return [
            topic.name
            for topic in self._metadata.topics.values()
            if any(not brokers.isdisjoint(info.replicas) for info in topic.partitions)
        ]

    async def _read_topics(self, names: Sequence[str]) -> None:
        """Host the partitions that topics have now; those on their way out are left alone."""
        doomed = set(await self._registry.topics.marked_for_deletion())
        wanted = [name for name in names if name not in doomed]
        for start in range(0, len(wanted), TOPICS_AT_ONCE):
            assignments = {}
            for name in wanted[start : start + TOPICS_AT_ONCE]:
                topic = await self._registry.topics.read(name, self._topic_changed)
                if topic is not None:
                    assignments[name] = topic.assignment
            await (
                self._lead(assignments) if self._office() is not None else self._follow(assignments)
            )
            self._watched |= assignments.keys()
            await asyncio.sleep(0)

    async def _lead(self, assignments: dict[str, TopicAssignment]) -> None:
        """Give every partition of these topics a leader, and hand the topics on."""
        partitions, epoch, live = self._registry.partitions, self._in_office(), self._electable
        keys = [(name, index) for name, topic in assignments.items() for index in topic.replicas]
        states = await partitions.read(keys)
        await leaders.create_states(partitions, assignments, states, live, epoch)
        await leaders.elect_leaders(partitions, assignments, states, live, epoch, self._begins_anew)
        await self._hand_on(assignments, states)

    def _begins_anew(self, state: PartitionState) -> bool:
        """Whether this broker led the partition before it started, or in another session."""
        return (
            self._life_known != self._life
            and state.leader == self._broker_id
            and state.controller_epoch != self._in_office().epoch
        )

    async def _follow(self, assignments: dict[str, TopicAssignment]) -> None:
        """Hand on what the controller has decided; what waits for its decision comes later."""
        keys = [(name, index) for name, topic in assignments.items() for index in topic.replicas]
        states = await self._registry.partitions.read(keys, self._topic_changed)
        decided = {}
        for name, topic in assignments.items():
            part = leaders.led_part(name, topic, states)
            if part is not None:
                decided[name] = part
        await self._hand_on(decided, states)

    async def _hand_on(
        self, assignments: dict[str, TopicAssignment], states: leaders.States
    ) -> None:
        live = self._live.ids | {self._broker_id}
        for name, topic in assignments.items():
            try:
                await self._sink.topic_changed(leaders.topic_info(name, topic, states, live))
            except Exception as error:  # the topics after it are hosted all the same
                again = partial(self._read_topics, [name])
                self._events.failed(f"look at topic {name}", again, error)

    async def _delete_marked(self) -> None:
        """Remove the topics that are marked for deletion; who follows leaves them alone."""
        if self._office() is None:
            return
        for name in await self._registry.topics.marked_for_deletion(self._deletions_changed):
            await self._events.attempt(f"delete topic {name}", partial(self._delete, name))

    async def _delete(self, name: str) -> None:
        """Take a topic's logs out of use, then forget it; cut short anywhere, it is repeated.

        After a crash nobody but the registry knows the topic, and its logs are there all the
        same: they have to go before the mark does. Without the mark the topic has been deleted,
        by another controller or with an answer that was lost; one of its name is a new one.
        """
        if self._office() is None or not await self._registry.topics.is_marked_for_deletion(name):
            return
        stored = await self._registry.topics.read(name)
        found = [] if stored is None else [leaders.topic_info(name, stored.assignment, {}, ())]
        if name in self._metadata.topics:
            found.append(self._metadata.topics[name])
        if found:
            await self._sink.topic_deleted(max(found, key=lambda topic: len(topic.partitions)))
        await self._registry.topics.delete(name, self._in_office())
        self._log.info("deleted topic", topic=name)
