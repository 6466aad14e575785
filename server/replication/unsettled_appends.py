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

    __slots__ = ("_acks", "_outcomes", "_replicas", "_unsettled")

    def __init__(
        self, replicas: Replicas, appended: Iterable[tuple[Partition, int, int]], acks: int
    ) -> None:
        """`appended`: partitions, the offset behind what each of them got, and `led_since` then.

        Of a partition that has been lost since then, or is settled, nothing is to be waited for.
        """
        self._replicas = replicas
        self._acks = acks
        self._unsettled: dict[Hashable, tuple[Partition, int, int]] = {}
        # What became of the others. A partition that is there twice waits for the later append.
        self._outcomes: dict[Hashable, ErrorCode] = {}
        for partition, end, led_since in appended:
            outcome = self._outcome(partition, end, led_since)
            if outcome is None:
                self._unsettled[partition.key] = (partition, end, led_since)
            else:
                self._outcomes[partition.key] = outcome

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The partitions to be parked under."""
        return tuple(self._unsettled)

    def is_ready(self, key: Hashable) -> bool:
        """Whether the partition that changed was the last; only that one is looked at."""
        found = self._unsettled.get(key)
        if found is not None and (outcome := self._outcome(*found)) is not None:
            # By the time of the answer it may be led again, or another topic bear the name.
            self._outcomes[key] = outcome
            del self._unsettled[key]
        return not self._unsettled

    def failure_of(self, partition: Partition, end: int) -> ErrorCode:
        """What one append is answered when the wait is over; NONE if it is safe."""
        key = partition.key
        self.is_ready(key)
        if key in self._unsettled:
            is_settled = partition.is_settled(end, self._acks)
            return ErrorCode.NONE if is_settled else ErrorCode.REQUEST_TIMED_OUT
        return self._outcomes[key]

    def _outcome(self, partition: Partition, end: int, led_since: int) -> ErrorCode | None:
        """What has become of an append by now; None if that is still to be seen.

        One that had to be on all replicas is lost with the leadership: led again, the partition
        may have other records there. One that is only to be flushed may have been by then.
        """
        is_settled = partition.is_settled(end, self._acks)
        if not partition.has_led_since(led_since) and (self._acks == -1 or not is_settled):
            return self._why_lost(partition)
        if not is_settled:
            return None
        if self._acks == -1 and partition.is_under_min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def _why_lost(self, partition: Partition) -> ErrorCode:
        """What has become of a partition that is not led any more: moved, deleted or failed."""
        try:
            self._replicas.require(partition.topic, partition.index)
        except ApiError as error:
            return error.code
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
