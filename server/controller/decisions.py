"""What a controller decides when something happens, and whom it tells.

Topics come, grow and are marked for deletion, brokers come and go, disks fail: each is an event
that reads how things stand and brings partitions to the states they should have (`leading`). What
clients and brokers ask for is decided by `requests`, in turn with the events.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.controller.announcements import Announcements
from barnabas.server.controller.channels import Channels
from barnabas.server.controller.control_messages import Sender, Told
from barnabas.server.controller.deletions import Deletions
from barnabas.server.controller.elections_on_request import ElectionsOnRequest
from barnabas.server.controller.isr_changes import IsrDecisions
from barnabas.server.controller.leading import NO_STATE, IsUncleanAllowed, Leading, told
from barnabas.server.controller.live_brokers import LiveBrokers
from barnabas.server.controller.notified import Notified
from barnabas.server.controller.online import Key, OnlineReplicas
from barnabas.server.controller.reassignments import Reassignments
from barnabas.server.controller.rebalancing import Rebalancing
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.controller.shutdowns import Shutdowns
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import WatchEvent
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid

TOPICS_AT_ONCE = 500  # between two batches other work gets its turn
SETTLED = frozenset(
    {ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.KAFKA_STORAGE_ERROR}
)
"""What a partition's role may come to; anything else is told again."""


class Decisions:
    """The cluster in the hands of one controller."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        channels: Channels,
        log: Log,
        events: RetriedEvents,
        office: Callable[[], ControllerEpoch | None],
        *,
        config: BrokerConfig,
        clock: Clock,
        is_unclean_allowed: IsUncleanAllowed,
        name_of: Callable[[Uuid], str | None],
    ) -> None:
        """`office` is the epoch of this broker as controller, None while it is not.

        Brokers speak with one another on `config.inter_broker_listener`; `name_of` knows topics by
        their ids.
        """
        self._registry = registry
        self._log = log
        self._events = events
        self._office = office
        self._broker_id = broker_id
        self._life, self._life_known = 1, 0  # counted by sessions; in which all has been learned
        self._changed: dict[str, None] = {}  # topics to look at, in the order of their watches
        self._watched: set[str] = set()  # topics of which a change will be told
        self._live = LiveBrokers(registry.brokers)
        self._gone: set[int] = set()  # brokers whose partitions have not been looked at since
        self._come: set[int] = set()
        self._online = OnlineReplicas()

        def sender() -> Sender:
            epoch = self._in_office().epoch
            return Sender(broker_id, epoch, registry.protocol, config.inter_broker_listener)

        self._announcements = Announcements(channels, sender, self._roles_taken, log)
        self.leading = Leading(
            registry.partitions, registry.protocol, self._announcements, self._online,
            self._in_office, self._begins_anew, is_unclean_allowed, self._live.epochs,
        )  # fmt: skip
        self._deletions = Deletions(
            broker_id, registry.topics, self._announcements, events, self._in_office, log
        )
        self.elections = ElectionsOnRequest(
            self.leading, self._deletions, registry.admin, events, self._in_office, log
        )
        self._rebalancing = Rebalancing(self.elections, config, events, clock)
        self.isr_changes = IsrDecisions(self.leading, self._online, self._live.epochs, name_of, log)
        self.reassignments = Reassignments(
            self.leading, self._announcements, self._online, registry.topics, registry.admin,
            events, self._in_office, log,
        )  # fmt: skip
        self._notified = Notified(
            self.leading, self._announcements, registry.isr_changes, registry.log_dir_events,
            events, self._in_office, log,
        )  # fmt: skip
        self.shutdowns = Shutdowns(self.leading, self._announcements, self._online, log)

    async def learn(self) -> None:
        """Take the office up: bring every topic in line with what the registry says."""
        life = self._life
        self.leading.told.clear()
        self._live.forget()
        self._online.clear()
        await self._see_brokers()
        self._gone.clear()
        self._come.clear()
        self._online.electable = live = self._live.ids
        await self._announcements.show((), live)
        names = await self._registry.topics.names(self._topics_changed)
        await self._read_topics(names, shows=False)
        await self._announcements.show(self.leading.all_told(), live, is_whole=True)
        await self._delete_marked()
        await self._notified.look()
        await self.reassignments.resume()
        await self.reassignments.look()
        await self.elections.look()
        self._rebalancing.start()
        self._life_known = life

    def epochs(self) -> dict[int, int]:
        """The live brokers and the epochs of their registrations."""
        return self._live.epochs()

    def are_anothers(self) -> None:
        """Another broker is controller, and sees this one come."""
        self._life_known = self._life

    def forget_events(self) -> None:
        """The queue has been cleared: what was to be looked at is learned anew."""
        self._changed.clear()
        self._watched.clear()
        self._rebalancing.stop()
        self.reassignments.forget()
        self._deletions.forget()
        self._announcements.fall_silent()

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
        self._watched.discard(name := event.path[len(paths.TOPICS) + 1 :])
        self._look_at(name)

    def _look_at(self, name: str) -> None:
        if not self._changed:
            self._events.put("look at topics that changed", self._look_at_changed)
        self._changed[name] = None

    def settings_changed(self, topic: str | None = None) -> None:
        """A topic's settings, or all topics', are others now: it may be led uncleanly, perhaps."""
        self._events.put("look for leaders", partial(self._look_for_leaders, topic))

    # What the events do.

    async def _take_stock(self) -> None:
        """Find topics that are new, and those that somebody else has removed.

        One that was made again since its end was told has a known name, and nobody watches it.
        """
        names = await self._registry.topics.names(self._topics_changed)
        for name in self.leading.told.keys() - set(names):
            await self._forget_topic(name)
        settled = self._watched & self.leading.told.keys()
        await self._read_topics([name for name in names if name not in settled])

    async def _look_at_changed(self) -> None:
        names, self._changed = self._changed, {}
        try:
            await self._read_topics(list(names))
        except BaseException:
            self._changed = names | self._changed
            raise

    async def _look_at_brokers(self) -> None:
        """Brokers have come or gone: elect for their partitions, and tell everybody.

        Those that have restarted are gone first, so that what they led begins a new epoch.
        """
        await self._see_brokers()
        announcements, old = self._announcements, self._live.ids - self._come
        await announcements.show((), old)
        self._online.electable = old
        await self._settle(self._gone)
        self._gone.clear()
        self._online.electable = self._live.ids
        if come := set(self._come):
            await announcements.show(self.leading.all_told(), come, is_whole=True)
            await announcements.give_roles(self._told_on(come), come)
            await self._settle(come)
            await self.reassignments.brokers_come(come)
            self._come -= come
        await self._delete_marked()

    async def _settle(self, brokers: set[int]) -> None:
        """Elect for what these brokers have replicas of."""
        names = self.leading.topics_on(brokers)
        for start in range(0, len(names), TOPICS_AT_ONCE):
            await self.leading.settle(names[start : start + TOPICS_AT_ONCE])

    def _told_on(self, brokers: set[int]) -> list[Told]:
        return [
            each
            for name in self.leading.topics_on(brokers)
            for each in self.leading.told[name].values()
        ]

    async def _look_for_leaders(self, topic: str | None) -> None:
        told = self.leading.told
        for name in list(told) if topic is None else [topic]:
            if any(each.state.leader == NO_LEADER for each in told.get(name, {}).values()):
                await self.leading.settle([name])

    async def _see_brokers(self) -> None:
        arrivals = await self._live.look(self._brokers_changed)
        self._gone |= arrivals.gone
        self._come |= arrivals.come
        self._announcements.follow(self._live.by_id)
        self._online.forget(arrivals.gone)
        self._deletions.brokers_gone(arrivals.gone)
        self.reassignments.brokers_gone(arrivals.gone)
        if arrivals:
            live = ",".join(map(str, sorted(self._live.ids)))
            self._log.info("the live brokers have changed", live=live)

    async def _read_topics(self, names: Sequence[str], *, shows: bool = True) -> None:
        """Lead the partitions that topics have now; those on their way out are left alone."""
        doomed = set(await self._registry.topics.marked_for_deletion())
        wanted = [name for name in names if name not in doomed]
        for start in range(0, len(wanted), TOPICS_AT_ONCE):
            some = wanted[start : start + TOPICS_AT_ONCE]
            topics = await self._registry.topics.read_some(some, self._topic_changed)
            assignments = {name: topic.assignment for name, topic in topics.items()}
            await self.leading.lead(assignments, shows=shows)
            self._watched |= assignments.keys()
            await asyncio.sleep(0)

    def _begins_anew(self, state: PartitionState) -> bool:
        """Whether this broker led the partition before it started, or in another session."""
        return (
            self._life_known != self._life
            and state.leader == self._broker_id
            and state.controller_epoch != self._in_office().epoch
        )

    def _roles_taken(self, broker_id: int, codes: Mapping[Key, ErrorCode]) -> None:
        """A broker has answered; what it could not lead or follow it is told once more.

        Where its disk has failed others lead; the news come with the next look at the topic.
        """
        lost = [key for key, code in codes.items() if code is ErrorCode.KAFKA_STORAGE_ERROR]
        sound = [key for key, code in codes.items() if code is ErrorCode.NONE]
        if moved := self._online.note(broker_id, lost, sound):
            self._log.warn("a broker's disk has failed", broker=broker_id, partitions=len(moved))
            topics = sorted({name for name, _ in moved})
            self._events.put("lead what a disk has lost", partial(self.leading.settle, topics))
        failed = {name: code for (name, _), code in codes.items() if code not in SETTLED}
        for name, code in failed.items():
            again = partial(self._give_roles_again, name, broker_id)
            self._events.failed(f"give roles in topic {name}", again, ApiError(code))

    async def _give_roles_again(self, name: str, broker_id: int) -> None:
        partitions = list(self.leading.told.get(name, {}).values())
        await self._announcements.give_roles(partitions, [broker_id])

    # Topics that go.

    async def _delete_marked(self) -> None:
        """Begin, or go on, to remove the topics that are marked for deletion."""
        for name in await self._registry.topics.marked_for_deletion(self._deletions_changed):
            await self._events.attempt(f"delete topic {name}", partial(self._delete, name))

    async def _delete(self, name: str) -> None:
        """Cut short anywhere, it is repeated.

        After a crash nobody but the registry knows the topic, and its logs are there all the
        same: they have to go before the mark does.
        """
        stored = await self._registry.topics.read(name)
        found = []
        if stored is not None:
            assignment = stored.assignment
            found = [told(name, assignment, index, NO_STATE) for index in assignment.replicas]
        known = list(self.leading.told.get(name, {}).values())
        await self._deletions.go_on(name, max(found, known, key=len))
        self.leading.told.pop(name, None)
        self._watched.discard(name)
        await self.reassignments.topic_gone(name)

    async def _forget_topic(self, name: str) -> None:
        self._watched.discard(name)
        await self.leading.forget_topic(name)
