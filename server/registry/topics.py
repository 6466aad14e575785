"""Topics: their assignment, their creation and their deletion.

Creating a topic is two steps by two actors, as in Kafka. Any broker writes the config and the
assignment (`create`); the controller sees the new child of /brokers/topics and makes the
partitions' states (`partitions.Partitions.create`). Deleting is the same the other way round:
any broker leaves a mark (`mark_for_deletion`), the controller removes everything (`delete`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.server.registry import bodies, configs, paths
from barnabas.server.registry.bodies import TOPIC_IDS_SINCE, ProtocolVersion, TopicAssignment
from barnabas.server.registry.cluster import random_uuid
from barnabas.server.registry.configs import Configs
from barnabas.server.registry.controller import ControllerEpoch, raise_if_moved
from barnabas.server.registry.errors import TopicExists, UnknownTopic, VersionConflict
from barnabas.server.registry.znodes.store import (
    BadVersion,
    Create,
    Delete,
    NodeExists,
    NoNode,
    SetData,
    Watch,
    Znode,
    ZnodeError,
    ZnodeStore,
)
from barnabas.wire.uuids import Uuid


class Topic(NamedTuple):
    """A topic's assignment as read, with the version of its znode."""

    assignment: TopicAssignment
    znode_version: int


def colliding_topics(name: str, existing: Iterable[str]) -> list[str]:
    """Return the topics whose metric names would equal those of `name`.

    A metric name cannot hold a dot, so dots and underscores are the same in it.
    """
    unified = name.replace(".", "_")
    size = len(name)
    return [
        other for other in existing if len(other) == size and other.replace(".", "_") == unified
    ]


class Topics:
    """The topics of the cluster."""

    def __init__(
        self, store: ZnodeStore, topic_configs: Configs, protocol: ProtocolVersion
    ) -> None:
        self._store = store
        self._configs = topic_configs
        self._protocol = protocol

    async def names(self, watch: Watch | None = None) -> list[str]:
        """Return the topics' names and watch them come and go."""
        return await self._store.children(paths.TOPICS, watch)

    async def read(self, name: str, watch: Watch | None = None) -> Topic | None:
        """Return a topic and watch its assignment."""
        path = paths.topic(name)
        try:
            return _decode(await self._store.get(path, watch))
        except NoNode:
            return None

    async def read_some(self, names: Sequence[str], watch: Watch | None = None) -> dict[str, Topic]:
        """Return those of the topics that there are, by name, and watch their assignments."""
        znodes = await self._store.get_many([paths.topic(name) for name in names], watch)
        return {
            name: _decode(znode)
            for name, znode in zip(names, znodes, strict=True)
            if znode is not None
        }

    async def has_partition(self, name: str, index: int) -> bool:
        """Whether there is such a partition, or will be as soon as somebody hosts it."""
        topic = await self.read(name)
        return topic is not None and index in topic.assignment.replicas

    async def read_all(self, watch: Watch | None = None) -> dict[str, Topic]:
        """Return all topics by name and watch them come and go."""
        return await self.read_some(await self.names(watch))

    async def create(
        self,
        name: str,
        replicas: Mapping[int, Sequence[int]],
        config: dict[str, str],
        topic_id: Uuid | None = None,
    ) -> TopicAssignment:
        """Write a new topic's config and assignment; it gets a random id unless one is given.

        Raises TopicExists, also while an earlier topic of this name is being deleted.
        """
        path = paths.topic(name)
        if await self.is_marked_for_deletion(name):
            raise TopicExists(f"topic {name} is marked for deletion")
        if await self._store.exists(path) is not None:
            raise TopicExists(f"topic {name} exists")
        topic = TopicAssignment(replicas, self._id_for(topic_id))
        body, entity = bodies.encode_topic(topic), f"{configs.TOPICS}/{name}"
        try:
            if await self._configs.create(entity, config):
                await self._store.create(path, body, make_parents=True)
            else:
                # Left behind by a topic that is gone, or of one that somebody makes right now:
                # in one transaction, so that a topic has the config of whoever made it.
                await self._configs.update(entity, lambda _: config, Create(path, body))
        except NodeExists as error:
            raise TopicExists(f"topic {name} exists") from error
        return topic

    async def write_assignment(
        self, name: str, changed: Topic, epoch: ControllerEpoch | None = None
    ) -> None:
        """Replace an assignment that still has the version it was read at.

        To add partitions (any broker) or to move replicas (the controller, with its epoch).
        Raises VersionConflict, UnknownTopic, ControllerMoved.
        """
        body = bodies.encode_topic(changed.assignment)
        write = SetData(paths.topic(name), body, changed.znode_version)
        try:
            await self._store.multi([write] if epoch is None else epoch.fence(write))
        except ZnodeError as error:
            raise_if_moved(error)
            if isinstance(error, NoNode):
                raise UnknownTopic(f"there is no topic {name}") from error
            if isinstance(error, BadVersion):
                raise VersionConflict(f"the assignment of topic {name} has changed") from error
            raise

    async def mark_for_deletion(self, name: str) -> None:
        """Ask the controller to delete a topic; asking twice is asking once."""
        try:
            await self._store.create(paths.deleted_topic(name), make_parents=True)
        except NodeExists:
            return

    async def marked_for_deletion(self, watch: Watch | None = None) -> list[str]:
        """Return the topics to be deleted and watch for more."""
        return await self._store.children(paths.DELETE_TOPICS, watch)

    async def is_marked_for_deletion(self, name: str) -> bool:
        """Whether a topic is to be deleted, or is being deleted."""
        return await self._store.exists(paths.deleted_topic(name)) is not None

    async def unmark_for_deletion(self, names: Iterable[str], epoch: ControllerEpoch) -> None:
        """Drop marks without deleting: topics that do not exist, or deletion switched off."""
        await self._delete_all([paths.deleted_topic(name) for name in names], epoch)

    async def delete(self, name: str, epoch: ControllerEpoch) -> None:
        """Remove a topic's partitions, assignment, config and mark, in this order.

        What is gone already is passed over, so a deletion that was cut short can be repeated.
        Raises ControllerMoved.
        """
        try:
            partitions = await self._store.children(paths.partitions(name))
        except NoNode:
            partitions = []
        doomed: list[str] = []
        for partition in map(int, partitions):
            doomed += [paths.partition_state(name, partition), paths.partition(name, partition)]
        doomed += [
            paths.partitions(name),
            paths.topic(name),
            paths.entity_config(f"{configs.TOPICS}/{name}"),
            paths.deleted_topic(name),
        ]
        await self._delete_all(doomed, epoch)

    async def _delete_all(self, doomed: Iterable[str], epoch: ControllerEpoch) -> None:
        outcomes = await self._store.pipeline([epoch.fence(Delete(path)) for path in doomed])
        for outcome in outcomes:
            raise_if_moved(outcome)
            if isinstance(outcome, ZnodeError) and not isinstance(outcome, NoNode):
                raise outcome

    def _id_for(self, topic_id: Uuid | None) -> Uuid | None:
        if self._protocol < TOPIC_IDS_SINCE:
            return None
        return topic_id or random_uuid()


def _decode(znode: Znode) -> Topic:
    return Topic(bodies.decode_topic(znode.data or b"{}"), znode.stat.version)
