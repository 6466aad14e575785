"""One connection to one leader, and the partitions that are followed over it, round after round.

    partitions that truncate: OffsetForLeaderEpoch, or what is known without ── cut
    partitions that fetch:    Fetch ── append, cut where logs part, start anew where out of range
    nothing to be done:       wait for a change, or for a delay to be over

Between two partitions of an answer others have their turn; a partition that has been given up or
taken anew meanwhile takes nothing of it. Source: Kafka's AbstractFetcherThread.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from barnabas.server.core.awaiting import pause
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.core.turns import Pauses, Turns
from barnabas.server.observing.logs import Log
from barnabas.server.replication.fetching import replica
from barnabas.server.replication.fetching.counts import FetchCounts
from barnabas.server.replication.fetching.followed import Followed, FollowerState
from barnabas.server.replication.fetching.leader import Leader
from barnabas.server.replication.fetching.out_of_range import OutOfRange
from barnabas.server.replication.fetching.outcomes import NOTHING_KNOWN, Outcomes
from barnabas.server.replication.fetching.session import FetchSession, Unusable, Wish
from barnabas.server.replication.fetching.table import FollowedTable
from barnabas.server.replication.fetching.truncation import EpochEnd
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import PartitionData

THROTTLED_MS: Final = 100.0
"""One that is throttled is looked at again then."""


class Surroundings(NamedTuple):
    """What fetchers of a broker share."""

    clock: Clock
    turns: Turns
    log: Log
    backoff_ms: Callable[[], int]
    truncates_on_fetch: bool
    knows_epochs: bool
    counts: FetchCounts
    quota: ReplicationQuota
    failed: set[object]
    """The keys of partitions that are not followed any more."""
    high_watermark_moved: Callable[[TopicPartition], object]
    flush: Callable[[Partition], object]


class Fetcher:
    """Follows partitions of one leader."""

    def __init__(
        self,
        leader: Leader,
        session: FetchSession,
        around: Surroundings,
        idle: Callable[["Fetcher"], object],
    ) -> None:
        """`idle` is told when nothing has been followed for a while; the fetcher has ended."""
        self._leader = leader
        self._session = session
        self._around = around
        self._log = around.log
        self._idle = idle
        self.table = FollowedTable(around.clock, around.backoff_ms)
        self._outcomes = Outcomes(self.table, around.clock, around.log, around.failed)
        self._out_of_range = OutOfRange(leader, self.table, self._outcomes)
        self._is_reached = True
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Follow nothing more; nothing is done to any log when this returns."""
        self.table.clear()
        self._task.cancel()
        await asyncio.wait((self._task,))
        self._leader.close()

    async def _run(self) -> None:
        while True:
            try:
                if not self.table and not await self._is_wanted_again():
                    break
                if truncating := self.table.ready_to_truncate():
                    await self._truncate(truncating)
                if not await self._fetch() and not self.table.ready_to_truncate():
                    await self.table.wait()
            except Unanswered as error:
                self._not_reached(error)
            except Exception as error:
                self._log.unexpected("a round of fetching failed", error)
                self._session.restart()
                await pause(self._around.clock, self._around.backoff_ms())

    async def _is_wanted_again(self) -> bool:
        """Wait a little before the connection is ended."""
        await self.table.wait()
        if not self.table:
            self._leader.close()
            self._idle(self)
        return bool(self.table)

    async def _truncate(self, truncating: list[Followed]) -> None:
        """Cut the logs that may hold what their leader's does not. Raises Unanswered."""
        asked = []
        for followed in truncating:
            epoch = followed.partition.log.epochs.latest_epoch
            if epoch >= 0 and self._around.knows_epochs:
                asked.append((followed, epoch))
            else:
                self._outcomes.cut(followed, NOTHING_KNOWN)
        if not asked:
            return
        ends = await self._leader.epoch_ends(asked)
        self._reached()
        pauses = self._around.turns.pauses()
        for followed, _ in asked:
            if self.table.holds(followed):
                said = ends.get(followed.key, ErrorCode.UNKNOWN_SERVER_ERROR)
                if isinstance(said, ErrorCode):
                    self._outcomes.refused(followed, said)
                else:
                    self._outcomes.cut(followed, said)
                await pauses.pause()

    async def _fetch(self) -> bool:
        """Ask for what is wanted, and take in what comes; False if nothing is."""
        changed = self.table.take_changes()
        asked = self._session.ask(changed, self.table.all, self._wish_of)
        if asked is None:
            return False
        self.table.look_again(asked.left)
        self._around.counts.requests += 1
        try:
            answers = self._session.take(await self._leader.fetch(asked))
        except Unusable as error:
            self._unusable(error, was_begun=asked.session_epoch > 0)
        else:
            self._reached()
            await self._take(answers)
        return True

    def _wish_of(self, key: TopicPartition) -> Wish | None:
        """What is wanted of a partition now."""
        followed = self.table.all.get(key)
        if followed is None or followed.state is not FollowerState.FETCHING:
            return None
        if followed.not_before_ms and followed.not_before_ms > self._around.clock.monotonic_ms():
            return None
        quota = self._around.quota
        if quota.is_on and not followed.is_in_sync and is_throttled(quota, followed.partition):
            if quota.is_exceeded:
                self.table.hold_off(followed, THROTTLED_MS)
                return None
        epoch = followed.last_fetched_epoch if self._around.truncates_on_fetch else -1
        log = followed.partition.log
        return Wish(followed, followed.topic_id, followed.fetch_offset, epoch, log.log_start_offset)

    async def _take(self, answers: Iterator[tuple[Wish, PartitionData]]) -> None:
        """Take in an answer; what asks the leader again comes last, for that ends the records."""
        pauses = self._around.turns.pauses()
        out_of_range: list[Followed] = []
        moved: list[TopicPartition] = []
        for wish, data in answers:
            followed = wish.followed
            if not self.table.holds(followed) or followed.fetch_offset != wish.fetch_offset:
                continue
            self.table.changed(followed)
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                out_of_range.append(followed)
            elif data.error_code:
                self._outcomes.refused(followed, data.error_code)
            elif await self._take_one(followed, data, pauses):
                moved.append(followed.key)
            await pauses.pause()
        for key in moved:
            self._around.high_watermark_moved(key)
        if still := [each for each in out_of_range if self.table.holds(each)]:
            await self._out_of_range.mend(still)

    async def _take_one(self, followed: Followed, data: PartitionData, pauses: Pauses) -> bool:
        """Take in what came of a partition; whether its high watermark moved."""
        followed.answered()
        parts = data.diverging_epoch
        if parts is not None and self._around.truncates_on_fetch:
            self._outcomes.cut(followed, EpochEnd(parts.epoch, parts.end_offset))
            return False
        try:
            records = data.records  # as decoded, a view of what was received
            if isinstance(records, memoryview) and records:
                await self._append(followed, records, pauses)
                if not self.table.holds(followed):
                    return False
            moved = replica.take_offsets(
                followed.partition, data.high_watermark, data.log_start_offset
            )
        except Exception as error:
            self._outcomes.went_wrong(followed, "what a leader sent cannot be appended", error)
            return False
        followed.lag = max(0, data.high_watermark - followed.fetch_offset)
        return moved

    async def _append(self, followed: Followed, records: memoryview, pauses: Pauses) -> None:
        """Append records piece by piece, until they end or the partition is given up."""
        partition, quota = followed.partition, self._around.quota
        log_end = partition.log.log_end_offset
        if log_end != followed.fetch_offset:
            raise ValueError(f"the log ends at {log_end}, not {followed.fetch_offset}")
        for piece in replica.pieces_for(partition.log, records):
            end = replica.append(partition, piece, self._around.clock.now_ms())
            followed.fetch_offset = end
            followed.last_fetched_epoch = partition.log.epochs.latest_epoch
            self._around.counts.received_bytes += len(piece)
            if quota.is_on and is_throttled(quota, partition):
                quota.record(len(piece))
            await pauses.pause()
            if not self.table.holds(followed):
                return
        self.table.served(followed)
        if partition.is_flush_due(followed.fetch_offset):
            self._around.flush(partition)

    def _unusable(self, error: Unusable, *, was_begun: bool) -> None:
        """A session that has ended is begun anew at once; anything else is no way to go on."""
        if error.code != ErrorCode.FETCH_SESSION_ID_NOT_FOUND or not was_begun:
            self._log.warn("a leader's answer is of no use", error=error, code=int(error.code))
            self.table.delay_all()

    def _not_reached(self, error: Unanswered) -> None:
        self._session.restart()
        if self._is_reached:
            self._log.warn("a leader does not answer", error=error)
        self._is_reached = False
        self.table.delay_all()

    def _reached(self) -> None:
        if not self._is_reached:
            self._log.info("a leader answers again")
        self._is_reached = True


def is_throttled(quota: ReplicationQuota, partition: Partition) -> bool:
    """Whether what is followed here of a partition counts."""
    throttled = partition.log.config.follower_replication_throttled_replicas
    return quota.applies(throttled, partition.index)
