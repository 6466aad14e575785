"""Appends that wait: whether they are flushed and replicated as their producer was promised.

Source: Kafka's DelayedProduce.
"""

from collections.abc import Hashable, Iterable

from barnabas.server.core.errors import ApiError
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.wire.error_codes import ErrorCode


class UnsettledAppends:
    """What of one request is not as safe as its `acks` want; asked by partition."""

    __slots__ = ("_acks", "_lost", "_replicas", "_unsettled")

    def __init__(
        self, replicas: Replicas, appended: Iterable[tuple[Partition, int]], acks: int
    ) -> None:
        """`appended`: partitions, and the offset behind what each of them got."""
        self._replicas = replicas
        self._acks = acks
        self._unsettled: dict[Hashable, tuple[Partition, int]] = {
            partition.key: (partition, end)
            for partition, end in appended
            if not partition.is_settled(end, acks)
        }
        self._lost: dict[Hashable, ErrorCode] = {}

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The partitions to be parked under."""
        return tuple(self._unsettled)

    def is_ready(self, key: Hashable) -> bool:
        """Whether the partition that changed was the last; only that one is looked at."""
        found = self._unsettled.get(key)
        if found is not None:
            partition, end = found
            if not partition.is_leader:
                # By the time of the answer another topic may bear the name.
                self._lost[key] = self._why_lost(partition)
                del self._unsettled[key]
            elif partition.is_settled(end, self._acks):
                if self._acks == -1 and partition.is_under_min_isr:
                    self._lost[key] = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                del self._unsettled[key]
        return not self._unsettled

    def failure_of(self, partition: Partition, end: int) -> ErrorCode:
        """What one append is answered when the wait is over; NONE if it is safe."""
        lost = self._lost.get(partition.key)
        if lost is not None:  # also where it has been elected again since
            return lost
        if not partition.is_leader:
            return self._why_lost(partition)
        if not partition.is_settled(end, self._acks):
            return ErrorCode.REQUEST_TIMED_OUT
        return ErrorCode.NONE

    def _why_lost(self, partition: Partition) -> ErrorCode:
        """What has become of a partition that is not led any more: moved, deleted or failed."""
        try:
            self._replicas.require(partition.topic, partition.index)
        except ApiError as error:
            return error.code
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
