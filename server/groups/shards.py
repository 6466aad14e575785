"""The partitions of __consumer_offsets that this broker leads, and the groups in each.

A shard is answered for from the moment its partition is led here until it is led elsewhere;
while it is being loaded its groups are refused with COORDINATOR_LOAD_IN_PROGRESS.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.server.core.errors import ApiError
from barnabas.server.replication.partition import Partition
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.groups.group import Group


class Shard:
    """The groups of one partition; `is_active` once everything in its log is known.

    `deleted_topics` are those deleted before it was: their offsets mean nothing.
    `is_failed` if its log could not be read: nothing is answered from what is not all there.
    """

    __slots__ = ("deleted_topics", "groups", "index", "is_active", "is_failed", "is_gone",
                 "leader_epoch", "open_transactions", "partition")  # fmt: skip

    def __init__(self, index: int, leader_epoch: int, partition: Partition) -> None:
        self.index = index
        self.leader_epoch = leader_epoch
        self.partition = partition
        self.is_active = False
        self.is_failed = False
        self.is_gone = False
        self.deleted_topics: set[str] = set()
        self.groups: dict[str, Group] = {}
        # Producer id -> the groups with offsets in its open transaction.
        self.open_transactions: dict[int, set[str]] = {}


class Shards:
    """All shards by partition index."""

    def __init__(self) -> None:
        self._shards: dict[int, Shard] = {}

    def __iter__(self) -> Iterator[Shard]:
        return iter(tuple(self._shards.values()))

    def put(self, shard: Shard) -> None:
        """A partition is led here now."""
        self._shards[shard.index] = shard

    def pop(self, index: int) -> Shard | None:
        """A partition is not led here any more."""
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.is_gone = True
        return shard

    def find(self, index: int) -> Shard | None:
        """The shard of a partition, loaded or not."""
        return self._shards.get(index)

    def require(self, index: int) -> Shard:
        """The shard of a partition, loaded.

        Raises ApiError NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
        """
        shard = self._shards.get(index)
        if shard is None or shard.is_failed:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        if not shard.is_active:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    @property
    def is_loading(self) -> bool:
        """Whether one of them is not loaded yet."""
        return any(not (each.is_active or each.is_failed) for each in self._shards.values())

    def groups(self) -> "Iterator[Group]":
        """Every group of every loaded shard."""
        for shard in self:
            if shard.is_active:
                yield from tuple(shard.groups.values())
