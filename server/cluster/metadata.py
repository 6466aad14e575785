"""The broker's view of the cluster: brokers, topics, leaders. What Metadata answers from.

The controller writes it (in its own process directly, otherwise by UpdateMetadata); everybody
else reads. A topic is replaced as a whole, never changed in place, so that an answer under
construction sees one state.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from barnabas.server.core.errors import ApiError
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import ZERO_UUID, Uuid

NO_LEADER = -1
NO_CONTROLLER = -1
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a broker is reached on one listener."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """A live broker; endpoints by listener name."""

    broker_id: int
    endpoints: dict[str, Endpoint]
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """A partition's replicas and who leads them; `leader_id` is NO_LEADER if nobody does.

    `partition_epoch` counts the registry's states of it, `controller_epoch` is of the controller
    that decided on its leader. `adding` and `removing` are those of `replicas` that
    a reassignment adds and removes: only the brokers that have a replica are told of those.
    """

    index: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    is_new: bool = False
    """Whether no broker has had it before: only then a log may be made beside a failed disk."""
    partition_epoch: int = -1
    controller_epoch: int = -1
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic and its partitions, in order of index.

    `answers` keeps what has been made of it for answers, until it is replaced as a whole.
    """

    name: str
    topic_id: Uuid
    partitions: tuple[PartitionInfo, ...]
    answers: dict[tuple[int, bool], Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_internal(self) -> bool:
        """Whether the topic is one of Kafka's own."""
        return self.name in INTERNAL_TOPICS


@dataclass(slots=True)
class ClusterMetadata:
    """Everything Metadata can tell.

    Before a controller has told it (`is_told`) a broker tells nobody anything, as Kafka's does:
    clients ask again, or another one. Told of this broker alone they would believe that there are
    no other brokers and no topics.
    """

    cluster_id: str = ""
    controller_id: int = NO_CONTROLLER
    is_told: bool = False
    brokers: dict[int, BrokerInfo] = field(default_factory=dict)
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    _names: dict[Uuid, str] = field(default_factory=dict)

    def set_topic(self, topic: TopicInfo) -> None:
        """Add a topic, or put its new state in the place of the old."""
        old = self.topics.get(topic.name)
        if old is not None and old.topic_id != topic.topic_id:
            self._names.pop(old.topic_id, None)
        self.topics[topic.name] = topic
        if topic.topic_id != ZERO_UUID:
            self._names[topic.topic_id] = topic.name

    def remove_topics(self, names: Iterable[str]) -> None:
        """Forget topics."""
        for name in names:
            topic = self.topics.pop(name, None)
            if topic is not None:
                self._names.pop(topic.topic_id, None)

    def name_of(self, topic_id: Uuid) -> str | None:
        """The topic's name, or None if nobody knows the id."""
        return self._names.get(topic_id)

    def topic_named_or_known(self, name: str | None, topic_id: Uuid) -> TopicInfo:
        """The topic meant by a name or, without one, by an id. An empty name is one without an id.

        Raises ApiError UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
        """
        if name or (name is not None and topic_id == ZERO_UUID):
            topic = self.topics.get(name)
            if topic is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return topic
        known = self._names.get(topic_id)
        if known is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        return self.topics[known]

    def partition(self, name: str, index: int) -> PartitionInfo | None:
        """One partition, or None."""
        topic = self.topics.get(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            return None
        return topic.partitions[index]

    def reachable(self, listener_name: str) -> list[tuple[BrokerInfo, Endpoint]]:
        """The brokers that have this listener, and where; none before this one is told."""
        return [
            (broker, broker.endpoints[listener_name])
            for broker in self.brokers.values()
            if self.is_told and listener_name in broker.endpoints
        ]

    @property
    def shown_controller_id(self) -> int:
        """The controller, for clients: one of the brokers that they are told of."""
        return self.controller_id if self.is_told else NO_CONTROLLER

    def leader_endpoint(self, info: PartitionInfo, listener_name: str) -> Endpoint | None:
        """Where the partition's leader is reached on a listener."""
        broker = self.brokers.get(info.leader_id)
        return broker.endpoints.get(listener_name) if broker else None
