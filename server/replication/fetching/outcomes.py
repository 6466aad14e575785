"""What comes of what a leader says of a partition: its log is cut, it is delayed, or it fails."""

from typing import Final

from barnabas.server.core.clock import Clock
from barnabas.server.observing.logs import Log
from barnabas.server.replication.fetching import replica
from barnabas.server.replication.fetching.followed import Followed
from barnabas.server.replication.fetching.table import FollowedTable
from barnabas.server.replication.fetching.truncation import EpochEnd, cut_for
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    OffsetOutOfRange,
    OffsetsOutOfOrder,
    StorageError,
    TooManyOpenFiles,
)
from barnabas.wire.error_codes import ErrorCode

NOTHING_KNOWN: Final = EpochEnd(-1, -1)
TRIED_AGAIN: Final = (CorruptBatch, InvalidRecord, OffsetsOutOfOrder, TooManyOpenFiles)
"""What is wrong with an answer, or for a moment, rather than with the partition."""
USUAL: Final = frozenset(
    {
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)  # while leaders move, and topics come and go


class Outcomes:
    """Of one fetcher's partitions."""

    def __init__(self, table: FollowedTable, clock: Clock, log: Log, failed: set[object]) -> None:
        """`failed` gets the keys of partitions that are not followed any more."""
        self._table = table
        self._clock = clock
        self._log = log
        self._failed = failed

    def refused(self, followed: Followed, code: int) -> None:
        """The leader answers an error code.

        One that knows a newer epoch is not asked again: the controller will tell us of it, too.
        """
        if code == ErrorCode.FENCED_LEADER_EPOCH:
            return self._fail(followed)
        if code not in USUAL:
            where = followed.partition.log.topic_partition
            self._log.error("a leader answers an error", partition=where, code=code)
        self._table.delay(followed)

    def went_wrong(self, followed: Followed, what: str, error: Exception) -> None:
        """Something was raised: by an answer that is worth asking for again, or for good."""
        where = followed.partition.log.topic_partition
        if isinstance(error, TRIED_AGAIN):
            self._log.error(what, partition=where, error=error)
            return self._table.delay(followed)
        if isinstance(error, StorageError):
            self._log.error(what, partition=where, error=error)
        else:
            self._log.unexpected(what, error, partition=where)
        self._fail(followed)

    def _fail(self, followed: Followed) -> None:
        where = followed.partition.log.topic_partition
        self._log.warn(
            "a partition is not followed any more", partition=where, epoch=followed.leader_epoch
        )
        self._table.fail(followed)
        self._failed.add(followed.key)

    def cut(self, followed: Followed, said: EpochEnd) -> None:
        """The leader says where an epoch ends."""
        log = followed.partition.log
        where = cut_for(
            said, log.lookup.end_offset_for_epoch, log.log_end_offset, followed.fetch_offset
        )
        self._cut_to(followed, where.offset, is_final=where.is_final)

    def cut_to_end(self, followed: Followed, offset: int) -> None:
        """The leader's log ends before ours: it was led elsewhere, uncleanly."""
        self._cut_to(followed, offset, is_final=True)

    def start_at(self, followed: Followed, start: int) -> None:
        """The leader's log begins there: where ours ends before, it begins anew."""
        log = followed.partition.log
        if start > log.log_end_offset:
            self._log.warn(
                "a log begins anew where its leader's does", partition=log.topic_partition,
                end_offset=log.log_end_offset, offset=start,
            )  # fmt: skip
            try:
                replica.start_anew(followed.partition, start, self._clock.now_ms())
            except Exception as error:
                return self.went_wrong(followed, "a log cannot be begun anew", error)
        self._go_on(followed, is_final=True)

    def _cut_to(self, followed: Followed, offset: int, *, is_final: bool) -> None:
        log = followed.partition.log
        if 0 <= offset < log.log_end_offset:
            self._log.info(
                "a log is truncated", partition=log.topic_partition, offset=offset,
                end_offset=log.log_end_offset, high_watermark=log.high_watermark,
            )  # fmt: skip
        if 0 <= offset < log.high_watermark:
            self._log.warn("truncated below the high watermark", partition=log.topic_partition)
        try:
            if offset < 0:
                raise OffsetOutOfRange("no log is cut to a negative offset", offset=offset)
            replica.cut(followed.partition, offset, self._clock.now_ms())
        except Exception as error:
            return self.went_wrong(followed, "a log cannot be truncated", error)
        self._go_on(followed, is_final=is_final)

    def _go_on(self, followed: Followed, *, is_final: bool) -> None:
        """Go on at the log's end; a leader that has said nothing new is not asked at once."""
        before = followed.state, followed.fetch_offset, followed.last_fetched_epoch
        followed.cut_to(followed.partition.log.log_end_offset, is_final=is_final)
        self._table.changed(followed)
        if before == (followed.state, followed.fetch_offset, followed.last_fetched_epoch):
            self._table.delay(followed)
