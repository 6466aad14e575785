"""Partitions that move to other replicas (KIP-455; KafkaController.onPartitionReassignment).

    asked for   the topic's znode names the replicas of the target and those that will go, and which
                come and go; a new leader epoch tells all of them. A move that this one replaces may
                have been adding others: these are deleted
    catching up the new replicas fetch, and the leader takes them into the in-sync set
    ended       once the whole target is in sync: one of it leads, in a new epoch; those that go
                leave the in-sync set and are deleted; last of all, when their brokers have said
                so or have gone, the topic's znode names the target alone

The znode says at any time what is still to be done, so the next controller goes on from there.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from barnabas.server.controller import elections
from barnabas.server.controller.announcements import Announcements
from barnabas.server.controller.control_messages import Told
from barnabas.server.controller.leading import Leading, assignment_in
from barnabas.server.controller.online import Key, OnlineReplicas
from barnabas.server.controller.reassignment import (
    Assignment,
    judge,
    of_partition,
    with_partition,
)
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.server.registry.admin import AdminRequests
from barnabas.server.registry.bodies import PartitionState, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved, UnknownTopic, VersionConflict
from barnabas.server.registry.topics import Topics
from barnabas.server.registry.znodes.store import WatchEvent
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.schema import Message

MOST_TRIES: Final = 10
AT_ONCE: Final = 500  # between two batches other work gets its turn

Targets = Mapping[Key, Sequence[int]]
Moves = dict[int, Assignment]
"""Partitions of a topic, by index, and their assignments."""


class Reassignments:
    """Those of one controller."""

    def __init__(
        self,
        leading: Leading,
        announcements: Announcements,
        online: OnlineReplicas,
        topics: Topics,
        admin: AdminRequests,
        events: RetriedEvents,
        in_office: Callable[[], ControllerEpoch],
        log: Log,
    ) -> None:
        self._leading = leading
        leading.on_moving = self._may_end
        self._announcements = announcements
        self._online = online
        self._topics = topics
        self._admin = admin
        self._events = events
        self._in_office = in_office
        self._log = log
        self._ending: dict[Key, None] = {}  # to be looked at, whether they have ended
        self._deleting: dict[Key, set[int]] = {}
        """Moves that have ended but for replicas that these brokers have still to delete."""
        leading.ending = self._deleting
        self._owed: dict[int, list[Key]] = {}  # by brokers that have gone, to be deleted there
        self._by_znode: frozenset[Key] = frozenset()

    def forget(self) -> None:
        """The office is lost."""
        self._ending.clear()
        self._deleting.clear()
        self._owed.clear()
        self._by_znode = frozenset()

    def moving(self) -> list[Told]:
        """The partitions that are on their way."""
        return [each for each in self._leading.all_told() if each.adding or each.removing]

    async def start(
        self, wanted: Mapping[Key, Sequence[int] | None], *, may_resize: bool = True
    ) -> dict[Key, ApiError]:
        """Move partitions to these replicas, or back where None is wanted; which cannot be.

        What a tool has asked for by the znode is overridden. `may_resize`: the number of replicas
        may change. Raises ControllerMoved.
        """
        faults: dict[Key, ApiError] = {}
        targets: dict[Key, Sequence[int]] = {}
        for count, (key, target) in enumerate(wanted.items()):
            try:
                targets[key] = self._target(key, target, may_resize)
            except ApiError as error:
                faults[key] = error
            if count % AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._take_back(targets)
        faults.update(await self._start(targets))
        return faults

    async def look(self) -> None:
        """Do what a tool has asked for by the znode, and take from that what is done."""
        try:
            wanted = await self._admin.reassignments(self._changed)
        except ValueError as error:
            self._log.error("the wish to move partitions cannot be read", why=error)
            return
        self._by_znode = frozenset(wanted or ())
        if not wanted:
            return
        faults: dict[Key, ApiError] = {}
        new: dict[Key, Sequence[int]] = {}
        for key, target in wanted.items():
            known = self._leading.find(*key)
            now = Assignment(()) if known is None else assignment_in(known)
            if known is None or now.target != target:
                new[key] = target
                try:
                    judge(now, target, None, may_resize=True)
                except ApiError as error:
                    faults[key] = error
        faults.update(await self._start({k: to for k, to in new.items() if k not in faults}))
        for (topic, index), fault in faults.items():
            self._log.warn("a partition is not moved", topic=topic, partition=index, why=fault)
        done = [key for key in wanted if key not in new and not self._is_moving(key)]
        await self._take_back([*faults, *done])

    async def resume(self, brokers: Collection[int] | None = None) -> None:
        """Begin a new epoch in what moves, or moves to these brokers: somebody may not know it."""
        keys = [
            each.key
            for each in self.moving()
            if brokers is None or any(to in brokers for to in assignment_in(each).target)
        ]
        await self._leading.change(keys, self._next_epoch)

    async def topic_gone(self, name: str) -> None:
        """A topic has been deleted: nobody moves it any more."""
        for key in [key for key in self._deleting if key[0] == name]:
            del self._deleting[key]
        await self._take_back([key for key in self._by_znode if key[0] == name])

    def _target(self, key: Key, target: Sequence[int] | None, may_resize: bool) -> Sequence[int]:
        """Where a partition is to go. Raises ApiError."""
        known = self._leading.find(*key)
        now = Assignment(()) if known is None else assignment_in(known)
        if target is None:
            if not now.is_moving:
                raise ApiError(
                    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No move is under way that could end."
                )
            target = now.origin
        else:
            online = self._online.brokers_of(key)
            judge(now, target, online, may_resize=may_resize or known is None)
        if known is None:
            raise _unknown()
        _require_somebody_in_sync(known, now.towards(target))
        return target

    async def _start(self, targets: Targets) -> dict[Key, ApiError]:
        faults: dict[Key, ApiError] = {}
        by_topic: dict[str, dict[int, Sequence[int]]] = {}
        for key, target in targets.items():
            if self._leading.find(*key) is None:
                faults[key] = _unknown()
            else:
                by_topic.setdefault(key[0], {})[key[1]] = target
        for topic, theirs in by_topic.items():
            try:
                await self._start_topic(topic, theirs)
            except UnknownTopic:
                faults.update({(topic, index): _unknown() for index in theirs})
        return faults

    async def _start_topic(self, topic: str, targets: Mapping[int, Sequence[int]]) -> None:
        before: Moves = {}

        def towards(assignment: TopicAssignment) -> TopicAssignment:
            for index, target in targets.items():
                before[index] = of_partition(assignment, index)
                changed = before[index].towards(target)
                assignment = with_partition(assignment, index, changed)
            return assignment

        try:
            await self._move(topic, targets, before, await self._rewrite(topic, towards))
        except ControllerMoved:
            raise
        except BaseException:
            held = {index: [*each.replicas, *targets[index]] for index, each in before.items()}
            self._events.put(f"go on to move {topic}", partial(self._go_on, topic, held))
            raise

    async def _move(
        self,
        topic: str,
        targets: Mapping[int, Sequence[int]],
        before: Moves,
        after: TopicAssignment,
    ) -> None:
        """Do what follows from a topic's new assignment."""
        moves = {index: of_partition(after, index) for index in targets}
        for index, assignment in moves.items():
            self._deleting.pop((topic, index), None)
            self._leading.assign((topic, index), assignment)
            listed = ",".join(map(str, assignment.target))
            self._log.info("moves", topic=topic, partition=index, to=listed)
        await self._drop(
            topic,
            {
                index: [each for each in before[index].replicas if each not in now.replicas]
                for index, now in moves.items()
            },
        )
        complete, waiting = self._sort(topic, moves)
        await self._leading.change([(topic, index) for index in waiting], self._next_epoch)
        if complete:
            await self._end_topic(topic, complete)

    async def _go_on(self, topic: str, held: Mapping[int, Sequence[int]]) -> None:
        """Moves were begun and cut short: what has become of them is in the registry.

        `held` are all replicas that there may be of each.
        """
        stored = await self._topics.read(topic)
        if stored is None or topic not in self._leading.told:
            return
        moves = {index: of_partition(stored.assignment, index) for index in held}
        for index, assignment in moves.items():
            self._deleting.pop((topic, index), None)
            self._leading.assign((topic, index), assignment)
        gone = {
            index: [each for each in dict.fromkeys(theirs) if each not in moves[index].replicas]
            for index, theirs in held.items()
        }
        await self._drop(topic, gone)
        await self._leading.change([(topic, index) for index in moves], self._next_epoch)

    def _sort(self, topic: str, moves: Moves) -> tuple[Moves, Moves]:
        """Which of the moves can end, and which cannot yet."""
        complete: Moves = {}
        waiting: Moves = {}
        for index, assignment in moves.items():
            known = self._leading.find(topic, index)
            if known is not None:
                can_end = assignment.is_complete(known.state.isr) and self._can_be_led(
                    known, assignment.target
                )
                (complete if can_end else waiting)[index] = assignment
        return complete, waiting

    def _can_be_led(self, known: Told, target: Sequence[int]) -> bool:
        online = self._online.brokers_of(known.key)
        return elections.reassigned(known.state, target, online, 0) is not None

    # The end of a move.

    def _may_end(self, key: Key) -> None:
        """A partition that moves has another in-sync set, or another leader."""
        known = self._leading.find(*key)
        if known is None or not assignment_in(known).is_complete(known.state.isr):
            return
        if not self._ending:
            self._events.put("end moves", self._end)
        self._ending[key] = None

    async def _end(self) -> None:
        keys, self._ending = self._ending, {}
        try:
            for topic in dict.fromkeys(topic for topic, _ in keys):
                await self._end_moves(topic, [index for name, index in keys if name == topic])
        except BaseException:
            self._ending = keys | self._ending
            raise

    async def _end_moves(self, topic: str, indexes: Iterable[int]) -> None:
        """End those of a topic's moves that can, by what the registry says of them."""
        stored = await self._topics.read(topic)
        if stored is None or topic not in self._leading.told:
            return
        assignment = stored.assignment
        moves = {
            index: move
            for index in indexes
            if index in assignment.replicas and (move := of_partition(assignment, index)).is_moving
        }
        complete, _ = self._sort(topic, moves)
        if complete:
            await self._end_topic(topic, complete)

    async def _end_topic(self, topic: str, moves: Moves) -> None:
        for index, assignment in moves.items():
            self._leading.assign((topic, index), Assignment(assignment.target))
        await self._leading.change([(topic, index) for index in moves], self._among_target)
        live = frozenset(self._leading.live)
        for index, assignment in moves.items():
            self._deleting[topic, index] = set(assignment.removing) & live
        await self._drop(topic, {index: each.removing for index, each in moves.items()})
        await self._finish([(topic, index) for index in moves])

    async def _drop(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Take replicas out of the in-sync sets, and have them deleted."""
        by_broker: dict[int, list[Key]] = {}
        for index, theirs in replicas.items():
            for broker_id in theirs:
                by_broker.setdefault(broker_id, []).append((topic, index))
        for broker_id, keys in by_broker.items():
            await self._leading.change(keys, partial(self._without, broker_id))
            dropped = [known for key in keys if (known := self._leading.find(*key)) is not None]
            has_dropped = partial(self._has_dropped, broker_id, keys)
            await self._announcements.stop(
                dropped, broker_id, is_deleted=True, on_answer=has_dropped
            )

    def _has_dropped(self, broker_id: int, keys: Iterable[Key], _: Message | None = None) -> None:
        """A broker has deleted its replicas of these, or has gone."""
        done = []
        for key in keys:
            if broker_id in (waiting := self._deleting.get(key, set())):
                waiting.discard(broker_id)
                if not waiting:
                    done.append(key)
        if done:
            self._events.put("finish moves", partial(self._finish, done))

    def brokers_gone(self, brokers: Iterable[int]) -> None:
        """These are not waited for: what they have not deleted they do when they are back."""
        for broker_id in brokers:
            keys = [key for key, waiting in self._deleting.items() if broker_id in waiting]
            if keys:
                self._owed.setdefault(broker_id, []).extend(keys)
                self._has_dropped(broker_id, keys)

    async def brokers_come(self, brokers: Collection[int]) -> None:
        """Have these go on with what they were asked before they went away."""
        for broker_id in brokers:
            owed = [self._leading.find(*key) for key in self._owed.pop(broker_id, ())]
            dropped = [each for each in owed if each and broker_id not in each.replicas]
            await self._announcements.stop(dropped, broker_id, is_deleted=True)
        await self.resume(brokers)

    async def _finish(self, keys: Iterable[Key]) -> None:
        """The replicas that were to go have gone: the topic's znode says so."""
        done: dict[str, list[int]] = {}
        for topic, index in keys:
            if self._deleting.get((topic, index)) == set():
                done.setdefault(topic, []).append(index)
        for topic, indexes in done.items():
            stored = await self._topics.read(topic)
            if stored is not None and (ended := self._ended(topic, indexes, stored.assignment)):
                await self._rewrite(topic, ended)
            for index in indexes:
                self._deleting.pop((topic, index), None)
                if (known := self._leading.find(topic, index)) is not None:
                    at = ",".join(map(str, known.replicas))
                    self._log.info("has moved", topic=topic, partition=index, to=at)
            await self._take_back([(topic, index) for index in indexes])

    def _ended(
        self, topic: str, indexes: Iterable[int], stored: TopicAssignment
    ) -> Callable[[TopicAssignment], TopicAssignment] | None:
        """What has to be changed to end moves, None where nothing moves any more.

        Another move may have begun meanwhile, which is left alone.
        """

        def is_ending(index: int, assignment: TopicAssignment) -> bool:
            known = self._leading.find(topic, index)
            move = of_partition(assignment, index)
            return move.is_moving and known is not None and move.target == list(known.replicas)

        def ended(assignment: TopicAssignment) -> TopicAssignment:
            for index in indexes:
                if is_ending(index, assignment):
                    target = Assignment(of_partition(assignment, index).target)
                    assignment = with_partition(assignment, index, target)
            return assignment

        return ended if any(is_ending(index, stored) for index in indexes) else None

    # Decisions.

    def _next_epoch(self, known: Told, online: Collection[int]) -> PartitionState | None:
        return elections.next_epoch(known.state, self._in_office().epoch)

    def _among_target(self, known: Told, online: Collection[int]) -> PartitionState | None:
        epoch = self._in_office().epoch
        return elections.reassigned(known.state, known.replicas, online, epoch)

    def _without(
        self, broker_id: int, known: Told, online: Collection[int]
    ) -> PartitionState | None:
        following = elections.without(known.state, broker_id, self._in_office().epoch)
        if following is None or following.leader in known.replicas:
            return following
        led = elections.reassigned(following, known.replicas, online, following.controller_epoch)
        return following if led is None else led._replace(leader_epoch=following.leader_epoch)

    # The znodes.

    async def _rewrite(
        self, topic: str, change: Callable[[TopicAssignment], TopicAssignment]
    ) -> TopicAssignment:
        """Change a topic's assignment in the registry; what it is then.

        Raises UnknownTopic, ControllerMoved, VersionConflict.
        """
        for _ in range(MOST_TRIES):
            stored = await self._topics.read(topic)
            if stored is None:
                raise UnknownTopic(f"there is no topic {topic}")
            changed = stored._replace(assignment=change(stored.assignment))
            try:
                await self._topics.write_assignment(topic, changed, self._in_office())
            except VersionConflict:
                continue
            return changed.assignment
        raise VersionConflict(f"the assignment of topic {topic} changes all the time")

    def _changed(self, _: WatchEvent) -> None:
        self._events.put("look for partitions to move", self.look)

    def _is_moving(self, key: Key) -> bool:
        known = self._leading.find(*key)
        return known is not None and assignment_in(known).is_moving

    async def _take_back(self, keys: Iterable[Key]) -> None:
        """Nobody waits for these any more who has asked by the znode."""
        gone = self._by_znode.intersection(keys)
        if not gone:
            return
        self._by_znode -= gone
        wanted = await self._admin.reassignments(self._changed) or {}
        left = {key: target for key, target in wanted.items() if key not in gone}
        await self._admin.write_reassignments(left, self._in_office())


def _require_somebody_in_sync(known: Told, following: Assignment) -> None:
    """Replicas that a move was adding may be the only ones that have everything."""
    if known.state.isr and not set(known.state.isr).intersection(following.replicas):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"None but {list(known.state.isr)} is in sync, which would be removed.",
        )


def _unknown() -> ApiError:
    return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
