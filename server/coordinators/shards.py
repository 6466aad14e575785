"""The partitions of an internal topic that this broker leads, and what is kept for each.

Loading   led here; the log is being read, names are refused with COORDINATOR_LOAD_IN_PROGRESS
Settling  everything in the log is known, but not on all in-sync replicas yet: what is answered
          from it could be lost with this broker. Refused as while it is loading
Active    everything in the log is known and safe; names are answered for
Failed    the log could not be read: nothing is answered from what is not all there, as in
          Kafka 4; it is read again later
Retired   led elsewhere: nothing leads out, a leadership that returns begins a new shard
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from typing import Generic, TypeVar

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.coordinators.partitioning import partition_for
from barnabas.server.coordinators.topic import CoordinatedTopic
from barnabas.server.core.errors import ApiError
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.records import Record
from barnabas.wire.error_codes import ErrorCode


class ShardState(Enum):
    """How far a shard is."""

    LOADING = "Loading"
    SETTLING = "Settling"
    ACTIVE = "Active"
    FAILED = "Failed"
    RETIRED = "Retired"


_ACTIVE = ShardState.ACTIVE  # for every request; a member of an Enum is slow to look up
_BEING_LOADED = (ShardState.LOADING, ShardState.SETTLING)


class ShardEvent(Enum):
    """What moves a shard."""

    REPLAYED = "the whole log has been read"
    SETTLED = "what has been read is on all in-sync replicas"
    UNREADABLE = "the log could not be read, or not be made sense of"
    RESIGNED = "the partition is led elsewhere, or gone"


TRANSITIONS: dict[tuple[ShardState, ShardEvent], ShardState] = {
    (ShardState.LOADING, ShardEvent.REPLAYED): ShardState.SETTLING,
    (ShardState.FAILED, ShardEvent.REPLAYED): ShardState.SETTLING,
    (ShardState.SETTLING, ShardEvent.SETTLED): ShardState.ACTIVE,
    (ShardState.LOADING, ShardEvent.UNREADABLE): ShardState.FAILED,
    (ShardState.FAILED, ShardEvent.UNREADABLE): ShardState.FAILED,
    (ShardState.ACTIVE, ShardEvent.UNREADABLE): ShardState.FAILED,
    (ShardState.LOADING, ShardEvent.RESIGNED): ShardState.RETIRED,
    (ShardState.SETTLING, ShardEvent.RESIGNED): ShardState.RETIRED,
    (ShardState.FAILED, ShardEvent.RESIGNED): ShardState.RETIRED,
    (ShardState.ACTIVE, ShardEvent.RESIGNED): ShardState.RETIRED,
}


class Shard(ABC):
    """One partition in one leadership; a coordinator derives what it keeps there from it.

    `leader_epoch` is the latest of the leadership: `partition` goes on when it is over.
    `has_failed` once a load has: the next that does is nothing new.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.index = partition.index
        self.leader_epoch = partition.leader_epoch
        self.state = ShardState.LOADING
        self.has_failed = False

    def move(self, event: ShardEvent) -> None:
        """Go where the event leads. Raises KeyError if it cannot happen now: a bug."""
        self.state = TRANSITIONS[self.state, event]

    @property
    def is_active(self) -> bool:
        """Whether its names are answered for."""
        return self.state is _ACTIVE

    @property
    def is_replayed(self) -> bool:
        """Whether everything in the log is known: what is written from now on comes behind it."""
        return self.state in (_ACTIVE, ShardState.SETTLING)

    @property
    def is_retired(self) -> bool:
        """Whether its leadership is over."""
        return self.state is ShardState.RETIRED

    @property
    @abstractmethod
    def count(self) -> int:
        """How many things are kept, for the log."""

    @abstractmethod
    def replay(self, record: Record, header: BatchHeader) -> None:
        """Take a record in, in the order of the log; others are served between two of them.

        What a single record has wrong is the shard's to skip; what is raised fails the load.
        """

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """A marker stands in the log: the producer's records before it count, or do not."""
        del producer_id, is_commit

    @abstractmethod
    def loaded(self) -> None:
        """The log is known to its end, and safe: the shard is answered for from now on."""

    @abstractmethod
    def retire(self) -> None:
        """Forget everything, and send whoever waits for an answer to look for the coordinator.

        Called when the leadership is over, and when a load has failed: the next one begins anew.
        """


S = TypeVar("S", bound=Shard)


class Shards(Generic[S]):
    """The shards of one topic by partition."""

    def __init__(self, topic: CoordinatedTopic, metadata: ClusterMetadata) -> None:
        self._topic = topic
        self._metadata = metadata
        self._shards: dict[int, S] = {}

    def __iter__(self) -> Iterator[S]:
        return iter(tuple(self._shards.values()))

    @property
    def partition_count(self) -> int:
        """Partitions of the topic: as many as it has, or would get."""
        topic = self._metadata.topics.get(self._topic.name)
        return len(topic.partitions) if topic else self._topic.partition_count

    def partition_of(self, name: str) -> int:
        """The partition that a name belongs to."""
        return partition_for(name, self.partition_count)

    def put(self, shard: S) -> None:
        """A partition is led here now."""
        self._shards[shard.index] = shard

    def pop(self, index: int) -> S | None:
        """A partition is not led here any more; its shard has still to be retired."""
        return self._shards.pop(index, None)

    def find(self, index: int) -> S | None:
        """The shard of a partition, loaded or not."""
        return self._shards.get(index)

    def of(self, name: str) -> S:
        """The loaded shard that a name belongs to.

        Raises ApiError NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
        """
        shard = self._shards.get(self.partition_of(name))
        if shard is not None:
            if shard.state is _ACTIVE:
                return shard
            if shard.state in _BEING_LOADED:
                raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise ApiError(ErrorCode.NOT_COORDINATOR)

    @property
    def is_loading(self) -> bool:
        """Whether one of them is being loaded for the first time."""
        return any(each.state in _BEING_LOADED for each in self._shards.values())

    def active(self) -> Iterator[S]:
        """Those that are loaded."""
        return (shard for shard in self if shard.is_active)
