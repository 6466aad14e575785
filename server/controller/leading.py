"""The partitions in the hands of one controller: their states as written, and as brokers know them.

Whatever is decided goes the same way: a state is written to the registry, fenced by the
controller's epoch and at the partition epoch that the decision builds on; then brokers are told,
the replicas with LeaderAndIsr if there is a new leader epoch, everybody with UpdateMetadata. Where
somebody else has written meanwhile, the decision is made once more, from what is there now.
"""

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import chain
from typing import Final

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.controller import elections
from barnabas.server.controller.announcements import Announcements
from barnabas.server.controller.control_messages import Told, none_leads
from barnabas.server.controller.elections import FIRST_LEADER_EPOCH
from barnabas.server.controller.online import Key, OnlineReplicas
from barnabas.server.controller.reassignment import Assignment, with_partition
from barnabas.server.registry.bodies import PartitionState, ProtocolVersion, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.partitions import Partitions, VersionedState
from barnabas.server.registry.znodes.store import BadVersion, ZnodeError
from barnabas.wire.uuids import ZERO_UUID

NO_STATE: Final = VersionedState(none_leads(0), 0)
MOST_TRIES: Final = 10
LEADER_RECOVERY_SINCE: Final[ProtocolVersion] = (3, 2)

Assignments = Mapping[str, TopicAssignment]
Decide = Callable[[Told, Collection[int]], PartitionState | None]
"""A partition and the brokers online: its next state, or None if it stays as it is."""
IsUncleanAllowed = Callable[[str], Awaitable[bool]]
"""Whether a topic may be led by a replica that is not in sync."""


class Leading:
    """Every partition there is, but for topics that are being deleted."""

    def __init__(
        self,
        partitions: Partitions,
        protocol: ProtocolVersion,
        announcements: Announcements,
        online: OnlineReplicas,
        in_office: Callable[[], ControllerEpoch],
        begins_anew: Callable[[PartitionState], bool],
        is_unclean_allowed: IsUncleanAllowed,
        broker_epochs: Callable[[], Mapping[int, int]],
    ) -> None:
        """`in_office` raises ControllerMoved once the office is lost.

        `begins_anew` says of a state whether its leader has forgotten that it leads.
        """
        self._partitions = partitions
        self._recovers = protocol >= LEADER_RECOVERY_SINCE
        self._announcements = announcements
        self._online = online
        self._in_office = in_office
        self._begins_anew = begins_anew
        self._is_unclean_allowed = is_unclean_allowed
        self._broker_epochs = broker_epochs
        self.ending: Container[Key] = ()
        """Partitions that have been told of an assignment that is not written yet."""
        self.on_moving: Callable[[Key], None] = lambda key: None
        """Hears whenever a partition that is being moved has another state."""
        self.told: dict[str, dict[int, Told]] = {}
        """Topics, their partitions in order of index: as they are written, and told."""

    @property
    def live(self) -> Collection[int]:
        """The brokers that live, those that are stopping included."""
        return self._announcements.live.keys()

    def find(self, topic: str, index: int) -> Told | None:
        """A partition, or None if there is none, or its topic is being deleted."""
        return self.told.get(topic, {}).get(index)

    def all_told(self) -> list[Told]:
        """Every partition."""
        return [each for partitions in self.told.values() for each in partitions.values()]

    def topics_on(self, brokers: Collection[int]) -> list[str]:
        """The topics with a replica on one of the brokers."""
        wanted = frozenset(brokers)
        return [
            name
            for name, partitions in self.told.items()
            if any(not wanted.isdisjoint(each.replicas) for each in partitions.values())
        ]

    async def lead(self, assignments: Assignments, *, shows: bool = True) -> None:
        """Give every partition of these topics the state it should have, and tell the brokers.

        With `shows` everybody hears, else only those that lead and follow. Raises ControllerMoved,
        and the ZnodeError of what was refused: somebody else has made it, or its topic is gone, so
        look again.
        """
        for name, topic in assignments.items():
            known = self.told.get(name)
            if known and first_of(known).topic_id != (topic.topic_id or ZERO_UUID):
                await self.forget_topic(name)
        assignments = {name: self._as_told(name, topic) for name, topic in assignments.items()}
        keys = [(name, index) for name, topic in assignments.items() for index in topic.replicas]
        written: dict[Key, int] = {}
        states = await self._states_of(keys, written)
        new = await self._create_states(assignments, states, set(keys) - states.keys())
        await self._settle(assignments, states, written)
        news = [
            told(name, topic, index, states.get((name, index), NO_STATE))._replace(
                is_new=(name, index) in new, offline=self._offline((name, index), replicas)
            )
            for name, topic in assignments.items()
            for index, replicas in sorted(topic.replicas.items())
        ]
        await self._announce(news, shows=shows)
        for name in assignments:  # one without partitions is a topic, too
            self.told.setdefault(name, {})

    async def settle(self, topics: Iterable[str]) -> None:
        """The same for topics that are known, by what is known of them."""
        known = {name: self.told[name] for name in topics if name in self.told}
        await self.lead({name: assignment_of(partitions) for name, partitions in known.items()})

    async def change(self, keys: Iterable[Key], decide: Decide) -> dict[Key, PartitionState]:
        """Write what is decided for each, and tell the brokers; the states that are new.

        Where somebody else has written meanwhile it is decided once more. Raises ControllerMoved,
        BadVersion.
        """
        made: dict[Key, PartitionState] = {}
        waiting = list(keys)
        for _ in range(MOST_TRIES):
            wanted = {
                key: state
                for key in waiting
                if (known := self.find(*key)) is not None
                and (state := decide(known, self._online.brokers_of(key))) is not None
            }
            outcomes = await self.write(wanted)
            refused = {k: o for k, o in outcomes.items() if isinstance(o, ZnodeError)}
            made.update({key: wanted[key] for key in outcomes.keys() - refused.keys()})
            waiting = [key for key, why in refused.items() if isinstance(why, BadVersion)]
            if not waiting:
                return made
        raise refused[waiting[0]]

    async def write(self, states: Mapping[Key, PartitionState]) -> dict[Key, int | ZnodeError]:
        """Write states in place of those told, as this controller's, and tell the brokers.

        Returns the new partition epoch of each, or why it was refused: BadVersion where somebody
        else had written, whose state is the one told from then on. Raises ControllerMoved.
        """
        if not states:
            return {}
        epoch = self._in_office()
        states = {k: each._replace(controller_epoch=epoch.epoch) for k, each in states.items()}
        before = {key: self.told[key[0]][key[1]] for key in states}
        versioned = {
            key: VersionedState(state, before[key].partition_epoch) for key, state in states.items()
        }
        outcomes = await self._partitions.write(versioned, epoch)
        news = [
            before[key]._replace(state=states[key], partition_epoch=outcome)
            for key, outcome in outcomes.items()
            if isinstance(outcome, int)
        ]
        await self._announce(news)
        await self.refresh([k for k, outcome in outcomes.items() if not isinstance(outcome, int)])
        return outcomes

    async def refresh(self, keys: Sequence[Key]) -> None:
        """Somebody else has written these: tell everybody what.

        Before protocol 2.7 a leader may have let a broker in that was about to go. It would count
        as in sync until it had lagged behind, and nothing is acknowledged for so long.
        """
        if not keys:
            return
        states = await self._partitions.read(keys)
        await self._announce(
            [
                known._replace(state=found.state, partition_epoch=found.partition_epoch)
                for key, found in states.items()
                if (known := self.find(*key)) is not None
            ]
        )
        if unsettled := {
            key[0]
            for key, found in states.items()
            if not self._online.brokers_of(key) >= {*found.state.isr} - {found.state.leader}
        }:
            await self.settle(unsettled)

    def assign(self, key: Key, assignment: Assignment) -> None:
        """A partition has these replicas; who is concerned hears it with its next leader epoch.

        To those that are added it is new.
        """
        partitions = self.told[key[0]]
        partitions[key[1]] = partitions[key[1]]._replace(
            replicas=assignment.replicas,
            adding=assignment.adding or (),
            removing=assignment.removing or (),
            is_new=bool(assignment.adding),
            offline=self._offline(key, assignment.replicas),
        )

    async def forget_topic(self, name: str) -> None:
        """A topic is gone from the registry already: everybody forgets it, and its logs go."""
        partitions = list(self.told.pop(name).values())
        live = self._announcements.live
        await self._announcements.show(partitions, live, deleted=frozenset({name}))
        await self._announcements.delete(partitions, live, lambda broker_id, code: None)

    def _as_told(self, name: str, topic: TopicAssignment) -> TopicAssignment:
        """A topic's assignment as the registry has it, but for what is about to be written."""
        for index, known in self.told.get(name, {}).items():
            if (name, index) in self.ending and index in topic.replicas:
                topic = with_partition(topic, index, assignment_in(known))
        return topic

    # States.

    async def _states_of(
        self, keys: Sequence[Key], written: dict[Key, int]
    ) -> dict[Key, VersionedState]:
        """What is known, and what is not from the registry, and when that was `written`."""
        states = {
            key: VersionedState(known.state, known.partition_epoch)
            for key in keys
            if (known := self.find(*key)) is not None
            and known.state.leader_epoch >= FIRST_LEADER_EPOCH
        }
        if unknown := [key for key in keys if key not in states]:
            states.update(await self._partitions.read(unknown, written=written))
        return states

    async def _create_states(
        self, assignments: Assignments, states: dict[Key, VersionedState], missing: Collection[Key]
    ) -> Collection[Key]:
        """Add first states; which they are. One that nobody can lead yet stays without."""
        epoch = self._in_office()
        fresh = {
            key: state
            for key in missing
            if (
                state := elections.first_state(
                    assignments[key[0]].replicas[key[1]], self._online.brokers_of(key), epoch.epoch
                )
            )
            is not None
        }
        if fresh:
            for refusal in (await self._partitions.create(fresh, epoch)).values():
                raise refusal
            states.update({key: VersionedState(state, 0) for key, state in fresh.items()})
        return fresh.keys()

    async def _settle(
        self,
        assignments: Assignments,
        states: dict[Key, VersionedState],
        written: dict[Key, int],
    ) -> None:
        waiting: Iterable[Key] = tuple(states)
        for _ in range(MOST_TRIES):
            wanted = await self._wanted(assignments, states, waiting, written)
            refused = await self._replace(states, wanted)
            for why in refused.values():
                if not isinstance(why, BadVersion):
                    raise why
            if not refused:
                return
            waiting = tuple(refused)
            states.update(await self._partitions.read(waiting, written=written))
        raise next(iter(refused.values()))

    async def _wanted(
        self,
        assignments: Assignments,
        states: Mapping[Key, VersionedState],
        keys: Iterable[Key],
        written: Mapping[Key, int],
    ) -> dict[Key, VersionedState]:
        """The states that have to change, as they should be."""
        epochs = self._broker_epochs()
        epoch = self._in_office().epoch
        wanted: dict[Key, VersionedState] = {}
        leaderless: dict[str, list[Key]] = {}
        for key in keys:
            (state, partition_epoch), replicas = states[key], assignments[key[0]].replicas[key[1]]
            online = self._online.brokers_of(key)
            sure = elections.not_restarted(state.isr, online, epochs, written.get(key))
            following = elections.settled(
                state, replicas, sure, epoch,
                stopping=self._online.stopping, begins_anew=self._begins_anew(state),
            )  # fmt: skip
            if following is not None:
                wanted[key] = VersionedState(following, partition_epoch)
            if (following or state).leader == NO_LEADER and not online.isdisjoint(replicas):
                leaderless.setdefault(key[0], []).append(key)
        for name, theirs in leaderless.items():
            if await self._is_unclean_allowed(name):
                for key in theirs:
                    (state, partition_epoch) = states[key]
                    found = self.uncleanly(
                        state, assignments[name].replicas[key[1]], self._online.brokers_of(key)
                    )
                    if found is not None:
                        wanted[key] = VersionedState(found, partition_epoch)
        return wanted

    def uncleanly(
        self, state: PartitionState, replicas: Sequence[int], online: Collection[int]
    ) -> PartitionState | None:
        """The state with a leader at any price."""
        epoch = self._in_office().epoch
        return elections.unclean(state, replicas, online, epoch, recovers=self._recovers)

    async def _replace(
        self, states: dict[Key, VersionedState], wanted: Mapping[Key, VersionedState]
    ) -> dict[Key, ZnodeError]:
        """Write states; what was refused."""
        refused: dict[Key, ZnodeError] = {}
        if wanted:
            outcomes = await self._partitions.write(wanted, self._in_office())
            for key, outcome in outcomes.items():
                if isinstance(outcome, int):
                    states[key] = VersionedState(wanted[key].state, outcome)
                else:
                    refused[key] = outcome
        return refused

    # Telling.

    def _offline(self, key: Key, replicas: Sequence[int]) -> tuple[int, ...]:
        online = self._online.brokers_of(key)
        return tuple(each for each in replicas if each not in online)

    async def _announce(self, news: Iterable[Told], *, shows: bool = True) -> None:
        """Tell the brokers what differs from what they know; from then on they know it."""
        roles, shown = [], []
        spared: set[tuple[int, Key]] = set()
        for each in sorted(news, key=lambda each: each.key):
            before = self.find(*each.key)
            if before is None or _role(before) != _role(each):
                roles.append(each)
                spared.update(self._stopped_followers(before, each))
            if before is None or before._replace(is_new=each.is_new) != each:
                shown.append(each)
        live = self._announcements.live
        if roles:
            await self._announcements.give_roles(roles, live, spared)
        if shown and shows:
            await self._announcements.show(shown, live)
        for each in chain(roles, shown):
            self.told.setdefault(each.topic, {})[each.partition] = each._replace(is_new=False)
            if assignment_in(each).is_moving:
                self.on_moving(each.key)
        await asyncio.sleep(0)

    def _stopped_followers(self, before: Told | None, after: Told) -> Iterator[tuple[int, Key]]:
        """Brokers that are stopping and do not lead the partition: they have stopped following."""
        leaders = {each.state.leader for each in (before, after) if each is not None}
        for broker_id in self._online.stopping - leaders:
            yield broker_id, after.key


def told(name: str, topic: TopicAssignment, index: int, versioned: VersionedState) -> Told:
    """A partition of a topic as brokers are told of it."""
    return Told(
        name, topic.topic_id or ZERO_UUID, index, *versioned, topic.replicas[index],
        topic.adding_replicas.get(index, ()), topic.removing_replicas.get(index, ()),
    )  # fmt: skip


def assignment_of(partitions: Mapping[int, Told]) -> TopicAssignment:
    """A topic's assignment by what was told of its partitions."""
    topic_id = first_of(partitions).topic_id if partitions else ZERO_UUID
    return TopicAssignment(
        {index: each.replicas for index, each in partitions.items()},
        None if topic_id == ZERO_UUID else topic_id,
        {index: each.adding for index, each in partitions.items() if each.adding},
        {index: each.removing for index, each in partitions.items() if each.removing},
    )


def assignment_in(partition: Told) -> Assignment:
    """A partition's replicas, those that come and those that go."""
    return Assignment(partition.replicas, partition.adding, partition.removing)


def first_of(partitions: Mapping[int, Told]) -> Told:
    """One of a topic's partitions, for what they have in common."""
    return next(iter(partitions.values()))


def _role(each: Told) -> tuple[object, ...]:
    """What a broker has to be told anew by LeaderAndIsr if it changes."""
    return each.state.leader_epoch, each.replicas, each.adding, each.removing
