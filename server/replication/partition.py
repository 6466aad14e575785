"""A partition as this broker sees it: its log, who leads it, and how far it is committed.

The leader appends and moves the high watermark: the lowest log end offset among the in-sync
replicas. With one replica that is the log's end, and an append is committed when it returns.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.server.core.errors import ApiError
from barnabas.server.observing.topic_metrics import TopicMetrics
from barnabas.server.replication.states import TRANSITIONS, ReplicaEvent, ReplicaState
from barnabas.storage.append.rules import ValidatedRecords
from barnabas.storage.log.results import AppendInfo, ReadBound, ReadResult
from barnabas.storage.log_config import FOREVER
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid

NO_EPOCH: Final = -1  # a request that names no leader epoch is not checked for one
READ_COMMITTED: Final = 1
NO_LEADER: Final = -1
LEADER: Final = ReplicaState.LEADER


class Partition:
    """One replica. `key` is what waits for this partition are parked under."""

    __slots__ = (
        "counts",
        "index",
        "isr",
        "key",
        "leader_epoch",
        "leader_id",
        "local_id",
        "log",
        "replicas",
        "state",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        topic_id: Uuid,
        index: int,
        local_id: int,
        log: ManagedLog,
        counts: TopicMetrics,
    ) -> None:
        self.counts = counts
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.key = (topic, index)
        self.local_id = local_id
        self.log = log
        self.state = ReplicaState.OFFLINE
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.replicas: Sequence[int] = ()
        self.isr: Sequence[int] = ()

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads the partition."""
        return self.state is LEADER

    def become_leader(self, leader_epoch: int, replicas: Sequence[int], isr: Sequence[int]) -> None:
        """Take over the leadership with a new epoch, or learn of a new in-sync set.

        A new epoch gets its entry in the epoch cache at once, at the log's end, even if no
        record is ever written in it.
        """
        if leader_epoch > self.leader_epoch:
            self.log.assign_epoch(leader_epoch, self.log.log_end_offset)
        self._move(ReplicaEvent.ELECTED, self.local_id)
        self.leader_epoch = leader_epoch
        self.replicas, self.isr = replicas, isr
        self._advance_high_watermark()

    def become_follower(
        self, leader_id: int, leader_epoch: int, replicas: Sequence[int], isr: Sequence[int]
    ) -> None:
        """Leave the leadership to another broker, or with NO_LEADER to nobody.

        The new epoch is known from here on: a client that still names the old one is fenced.
        """
        self._move(ReplicaEvent.DEMOTED, leader_id)
        self.leader_epoch = leader_epoch
        self.replicas, self.isr = replicas, isr

    def went_offline(self) -> None:
        """The partition was deleted, or its disk failed: whoever still holds this is refused."""
        self._move(ReplicaEvent.LOST, NO_LEADER)

    def _move(self, event: ReplicaEvent, leader_id: int) -> None:
        self.state = TRANSITIONS[self.state, event]
        self.leader_id = leader_id

    def check_leader(self, current_leader_epoch: int = NO_EPOCH) -> None:
        """Refuse unless this broker leads, in the epoch the request knows (KIP-320).

        Raises ApiError NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
        """
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != self.leader_epoch:
            if current_leader_epoch < self.leader_epoch:
                raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH)
        if self.state is not LEADER:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def append(
        self,
        records: bytearray | memoryview,
        acks: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        one_v2_batch: bool = False,
        allow_zstd: bool = True,
        verification_guard: VerificationGuard | None = None,
        transaction_version: int = 0,
        at_once: bool = True,
        validated: ValidatedRecords | None = None,
    ) -> AppendInfo:
        """Append as leader; `records` is stamped in place, the rest is for `Log`.

        Raises ApiError, or a StorageError that says what is wrong with the records.
        """
        if self.state is not LEADER:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = self.log
        isr_size = len(self.isr)
        if acks == -1 and isr_size < log.config.min_insync_replicas:
            self._check_min_isr(isr_size)
        info = log.append_as_leader(
            records,
            self.leader_epoch,
            now_ms,
            origin=origin,
            one_v2_batch=one_v2_batch,
            allow_zstd=allow_zstd,
            verification_guard=verification_guard,
            transaction_version=transaction_version,
            at_once=at_once,
            validated=validated,
        )
        if isr_size == 1:
            log.maybe_increment_high_watermark(log.log_end_offset)
        return info

    def _check_min_isr(self, isr_size: int) -> None:
        if isr_size < self.min_insync_replicas:
            raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)

    @property
    def min_insync_replicas(self) -> int:
        """How many replicas acks=all needs: the setting, capped by how many there are."""
        return min(self.log.config.min_insync_replicas, max(1, len(self.replicas)))

    def is_settled(self, offset: int, acks: int) -> bool:
        """Whether everything below `offset` is as safe as promised.

        With acks=-1 that is on all in-sync replicas; with `flush.messages` it is flushed, too,
        as soon as so many are not.
        """
        log = self.log
        if acks == -1 and log.high_watermark < offset:
            return False
        return log.config.flush_messages == FOREVER or not self.is_flush_due(offset)

    def is_flush_due(self, offset: int) -> bool:
        """Whether `flush.messages` wants a flush before what ends at `offset` is acknowledged."""
        log = self.log
        if log.recovery_point >= offset:
            return False
        return log.log_end_offset - log.recovery_point >= log.config.flush_messages

    def read(
        self, offset: int, max_bytes: int, bound: ReadBound, min_one_message: bool
    ) -> ReadResult:
        """Find records to send, see `Log.read`. ColdRead rather than wait for the disk."""
        log = self.log
        mode = log.files.mode
        mode.is_warm_only = True
        try:
            return log.read(offset, max_bytes, bound=bound, min_one_message=min_one_message)
        finally:
            mode.is_warm_only = False

    def readable_bytes(self, offset: int, max_bytes: int, bound: ReadBound) -> int:
        """How much a read would give now, 0 where it would be refused; ColdRead as `read`."""
        log = self.log
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return 0
        records = self.read(offset, max_bytes, bound, False).records
        return 0 if records is None else len(records)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """(largest known epoch up to `leader_epoch`, where it ends), or (-1, -1) (KIP-279)."""
        if leader_epoch == self.leader_epoch:
            return leader_epoch, self.log.log_end_offset
        return self.log.lookup.end_offset_for_epoch(leader_epoch)

    def end_offset(self, isolation_level: int) -> int:
        """The first offset that a consumer of the isolation level cannot read yet."""
        if isolation_level == READ_COMMITTED:
            return self.log.last_stable_offset
        return self.log.high_watermark

    def _advance_high_watermark(self) -> None:
        if len(self.isr) == 1:
            self.log.maybe_increment_high_watermark(self.log.log_end_offset)
