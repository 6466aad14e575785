"""A partition as this broker sees it: its log, who leads it, and how far it is committed.

The leader appends and moves the high watermark: the lowest log end offset among the in-sync
replicas (`in_sync`). With one replica that is the log's end, and an append is committed when it
returns. Of followers the leader keeps how far each has come, as their fetches tell, and asks for
changes of the in-sync set (`isr_states`).

Source: Kafka's Partition.
"""

from collections.abc import Collection, Sequence
from typing import Final

from barnabas.server.core.errors import ApiError
from barnabas.server.observing.topic_metrics import TopicMetrics
from barnabas.server.replication import in_sync
from barnabas.server.replication.in_sync import Follower
from barnabas.server.replication.isr_states import (
    FOR_GOOD,
    NOT_APPLIED,
    IsrChange,
    IsrEvent,
    IsrState,
    LeaderParts,
)
from barnabas.server.replication.isr_states import TRANSITIONS as ISR_TRANSITIONS
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
OFFLINE: Final = ReplicaState.OFFLINE
COMMITTED: Final = IsrState.COMMITTED
NO_FOLLOWERS: Final[dict[int, Follower]] = {}  # of all partitions that have none


class Partition:
    """One replica. `key` is what waits for this partition are parked under."""

    __slots__ = (
        "_parts",
        "_pending",
        "adding",
        "controller_epoch",
        "counts",
        "epoch_start_offset",
        "followers",
        "index",
        "isr",
        "isr_state",
        "key",
        "leader_epoch",
        "leader_id",
        "led_since",
        "local_id",
        "log",
        "maximal_isr",
        "partition_epoch",
        "removing",
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
        parts: LeaderParts,
    ) -> None:
        self._parts = parts
        self._pending: IsrChange | None = None
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
        self.controller_epoch = NO_EPOCH
        """Of the controller that decided who leads."""
        self.partition_epoch = NO_EPOCH
        """Counts the registry's states of the partition."""
        self.led_since = NO_EPOCH
        """The leader epoch in which this broker took the leadership over; it may be over."""
        self.epoch_start_offset = 0
        """Where the log ended when the leader was elected."""
        self.replicas: Sequence[int] = ()
        self.adding: Sequence[int] = ()
        """Replicas that a reassignment adds; in `replicas` already."""
        self.removing: Sequence[int] = ()
        """Those that it removes; in `replicas` still."""
        self.isr: Sequence[int] = ()
        """The in-sync set as the registry has it; only the leader's is up to date."""
        self.maximal_isr: Sequence[int] = ()
        """The same, and who is about to join."""
        self.isr_state = COMMITTED
        self.followers: dict[int, Follower] = NO_FOLLOWERS

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads the partition."""
        return self.state is LEADER

    def has_led_since(self, leader_epoch: int) -> bool:
        """Whether this broker leads, and has all the time since it took over in that epoch."""
        return self.state is LEADER and self.led_since == leader_epoch

    def become_leader(
        self,
        leader_epoch: int,
        replicas: Sequence[int],
        isr: Sequence[int],
        *,
        partition_epoch: int = 0,
        controller_epoch: int = 0,
        adding: Sequence[int] = (),
        removing: Sequence[int] = (),
    ) -> None:
        """Take over the leadership with a new epoch, or learn of a new in-sync set.

        A new epoch gets its entry in the epoch cache at once, at the log's end, even if no
        record is ever written in it. Whoever waits for the high watermark is to be woken.
        """
        was_leader = self.is_leader
        is_new_epoch = leader_epoch > self.leader_epoch
        if is_new_epoch:
            self.epoch_start_offset = self.log.log_end_offset
            self.log.assign_epoch(leader_epoch, self.epoch_start_offset)
        if not was_leader:
            self.led_since = leader_epoch
        self._move(ReplicaEvent.ELECTED, self.local_id)
        self.leader_epoch = leader_epoch
        self.partition_epoch, self.controller_epoch = partition_epoch, controller_epoch
        self.replicas, self.adding, self.removing = replicas, adding, removing
        self._know_followers(isr, was_leader, is_new_epoch)
        self._set_isr(IsrEvent.TOLD, isr)
        self.advance_high_watermark()

    def become_follower(
        self,
        leader_id: int,
        leader_epoch: int,
        replicas: Sequence[int],
        isr: Sequence[int],
        *,
        partition_epoch: int = 0,
        controller_epoch: int = 0,
        adding: Sequence[int] = (),
        removing: Sequence[int] = (),
    ) -> None:
        """Leave the leadership to another broker, or with NO_LEADER to nobody.

        The new epoch is known from here on: a client that still names the old one is fenced.
        """
        self._move(ReplicaEvent.DEMOTED, leader_id)
        self.leader_epoch = leader_epoch
        self.partition_epoch, self.controller_epoch = partition_epoch, controller_epoch
        self.replicas, self.adding, self.removing = replicas, adding, removing
        self.followers = NO_FOLLOWERS
        self._set_isr(IsrEvent.TOLD, isr)

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
        self._check_epoch(current_leader_epoch)
        if self.state is not LEADER:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_readable(self, current_leader_epoch: int, led_only: bool) -> None:
        """The same for who may read from a follower, unless `led_only`."""
        self._check_epoch(current_leader_epoch)
        if self.state is not LEADER and (led_only or self.state is OFFLINE):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != self.leader_epoch:
            if current_leader_epoch < self.leader_epoch:
                raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH)

    def is_readable(self, current_leader_epoch: int, led_only: bool) -> bool:
        """Whether that would not be refused."""
        if self.state is not LEADER and (led_only or self.state is OFFLINE):
            return False
        return current_leader_epoch == NO_EPOCH or current_leader_epoch == self.leader_epoch

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
            if self.followers:
                self.advance_high_watermark()
            else:
                log.maybe_increment_high_watermark(log.log_end_offset)
        return info

    def _check_min_isr(self, isr_size: int) -> None:
        if isr_size < self.min_insync_replicas:
            raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)

    @property
    def min_insync_replicas(self) -> int:
        """How many replicas acks=all needs: the setting, capped by how many there are."""
        return min(self.log.config.min_insync_replicas, max(1, len(self.replicas)))

    @property
    def is_under_min_isr(self) -> bool:
        """Whether fewer are in sync, or about to be, than acks=all needs."""
        return len(self.maximal_isr) < self.min_insync_replicas

    @property
    def has_lagging_high_watermark(self) -> bool:
        """Whether this leader does not know yet what the one before it had committed (KIP-207)."""
        return self.is_leader and self.log.high_watermark < self.epoch_start_offset

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

    # What only the leader of followers does.

    def _know_followers(self, isr: Collection[int], was_leader: bool, is_new_epoch: bool) -> None:
        """Keep the progress of those that stay; a leader that is new has seen nobody fetch."""
        before = self.followers if was_leader else NO_FOLLOWERS
        ids = [replica_id for replica_id in self.replicas if replica_id != self.local_id]
        if not ids:
            self.followers = NO_FOLLOWERS
            return
        self.followers = {each: before.get(each) or Follower() for each in ids}
        if not is_new_epoch:
            return
        now_ms = self._parts.clock.monotonic_ms()
        for replica_id, follower in self.followers.items():
            leader_end = self.epoch_start_offset if replica_id in before else in_sync.UNKNOWN
            follower.leader_elected(leader_end, replica_id in isr, now_ms)

    def require_follower(self, replica_id: int, current_leader_epoch: int) -> Follower:
        """The follower that fetches.

        Raises ApiError for a stranger: who names the right epoch has heard of an assignment that
        this leader has not heard of yet, so UNKNOWN_LEADER_EPOCH; else NOT_LEADER_OR_FOLLOWER.
        Either has it ask again.
        """
        follower = self.followers.get(replica_id)
        if follower is not None:
            return follower
        if current_leader_epoch != NO_EPOCH:
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH)
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def follower_fetched(
        self, replica_id: int, broker_epoch: int, fetch_offset: int, log_start_offset: int
    ) -> bool:
        """A follower has been given what comes at `fetch_offset`: it holds everything below.

        Returns whether somebody may be waiting for what has changed by that.
        """
        follower = self.followers[replica_id]
        old_end, old_start = follower.log_end_offset, follower.log_start_offset
        now_ms = self._parts.clock.monotonic_ms()
        follower.fetched(
            fetch_offset, log_start_offset, self.log.log_end_offset, broker_epoch, now_ms
        )
        if replica_id not in self.isr and self.isr_state is COMMITTED:
            self._maybe_expand_isr(replica_id, follower)
        has_moved = fetch_offset != old_end and self._advance_high_watermark(now_ms)
        return has_moved or log_start_offset != old_start

    def advance_high_watermark(self) -> bool:
        """Raise the high watermark as far as the in-sync replicas have come; whether it rose.

        It stays where it is while fewer are in sync than acks=all takes.
        """
        return self._advance_high_watermark(self._parts.clock.monotonic_ms())

    def _advance_high_watermark(self, now_ms: float) -> bool:
        if len(self.isr) < self.min_insync_replicas:
            return False
        log = self.log
        offset = log.log_end_offset
        if self.followers:
            parts = self._parts
            offset = in_sync.high_watermark(
                offset, self.followers, self.maximal_isr, parts.is_alive, now_ms, parts.max_lag_ms
            )
        elif len(self.isr) != 1:
            return False
        return log.maybe_increment_high_watermark(offset)

    @property
    def low_watermark(self) -> int:
        """Below this every live replica has deleted its records."""
        start = self.log.log_start_offset
        return in_sync.low_watermark(start, self.followers, self._parts.is_alive)

    def _maybe_expand_isr(self, replica_id: int, follower: Follower) -> None:
        if self._parts.is_alive(replica_id) and in_sync.may_join(
            follower, self.log.high_watermark, self.epoch_start_offset
        ):
            self._submit(IsrEvent.CAUGHT_UP, (*self.isr, replica_id))

    def maybe_shrink_isr(self) -> frozenset[int]:
        """Ask for those to leave the in-sync set that have lagged behind too long; which."""
        if self.isr_state is not COMMITTED or not self.followers:
            return frozenset()
        parts = self._parts
        lagging = in_sync.lagging(
            self.isr, self.local_id, self.followers, self.log.log_end_offset,
            parts.clock.monotonic_ms(), parts.max_lag_ms,
        )  # fmt: skip
        if lagging:
            left = tuple(each for each in self.isr if each not in lagging)
            self._submit(IsrEvent.LAGGED, left)
        return lagging

    def _submit(self, event: IsrEvent, isr: Sequence[int]) -> None:
        """Have a change agreed on. Who joins counts from here on, who leaves still does."""
        self.isr_state = ISR_TRANSITIONS[self.isr_state, event]
        if event is IsrEvent.CAUGHT_UP:
            self.maximal_isr = isr
        self._pending = IsrChange(
            self.key, self.topic_id, isr, [self._broker_epoch(each) for each in isr],
            leader_epoch=self.leader_epoch, partition_epoch=self.partition_epoch,
            controller_epoch=self.controller_epoch,
        )  # fmt: skip
        self._parts.submit(self._pending)

    def _broker_epoch(self, replica_id: int) -> int:
        follower = self.followers.get(replica_id)
        return in_sync.NO_BROKER_EPOCH if follower is None else follower.broker_epoch

    def waits_for(self, change: IsrChange) -> bool:
        """Whether the change is still wanted: nothing has been decided meanwhile."""
        return self._pending is change

    def isr_agreed(
        self, change: IsrChange, leader_epoch: int, isr: Sequence[int], partition_epoch: int
    ) -> bool:
        """A change is in the registry, with this partition epoch; whether to wake who waits."""
        if not self.waits_for(change):
            return False
        parts = self._parts
        if leader_epoch != self.leader_epoch or partition_epoch < self.partition_epoch:
            parts.failures += 1
            return False
        if self.isr_state is IsrState.EXPANDING:
            parts.expansions += 1
        else:
            parts.shrinks += 1
        self.partition_epoch = partition_epoch
        self._set_isr(IsrEvent.AGREED, isr)
        return self.advance_high_watermark()

    def isr_refused(self, change: IsrChange, code: ErrorCode) -> bool:
        """A change was refused; whether it is to be asked for again."""
        if not self.waits_for(change):
            return False
        self._parts.failures += 1
        if code in NOT_APPLIED:
            self._set_isr(IsrEvent.REFUSED, self.isr)
        return code not in NOT_APPLIED and code not in FOR_GOOD

    def _set_isr(self, event: IsrEvent, isr: Sequence[int]) -> None:
        self.isr_state = ISR_TRANSITIONS[self.isr_state, event]
        self._pending = None
        self.isr = self.maximal_isr = isr
