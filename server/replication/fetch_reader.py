"""What one Fetch reads of its partitions: slices of their logs, within the request's limits.

* KIP-74: the first partition with data gives its first batch whole, whatever the limits say.
  Any other partition gives no bytes where its first batch does not fit: a client takes bytes
  without a whole batch for records too large, or passes over the partition without a word. Only
  behind a whole batch may a cut one follow. Before v3 a partition's limit is hard and cuts the
  first, too; what other partitions have left of the answer does not (in Kafka it does).
* Leader epochs are checked (KIP-320); a client whose last batch this log does not hold is told
  where it diverges (KIP-595).
* From version 11 on consumers may read from followers, up to these's high watermark; a leader
  names one near by where that is wanted, and gives it no records itself (KIP-392).
* A follower's fetch tells how far it has come: the leader takes note of that when it first reads
  for the fetch, not again when it has waited.
* What has to be looked up on the disk is read by a thread first: reading stops with ColdRead, and
  goes on in steps with the partition at which it stopped.

Source: Kafka's ReplicaManager.readFromLog and Partition.fetchRecords.
"""

from functools import partial
from typing import Final

from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.turns import Waiting
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.replication.fetch_sessions import Key, Wanted
from barnabas.server.replication.fetcher import broker_epoch_of, replica_id_of
from barnabas.server.replication.partition import READ_COMMITTED, Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.server.replication.read_replica import NO_REPLICA, ReadReplicas
from barnabas.server.replication.replicas import Replicas
from barnabas.storage.disk.open_files import ColdRead
from barnabas.storage.errors import StorageError
from barnabas.storage.log.results import ReadBound
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequest,
    PartitionData,
)

EMPTY: Final = b""
FOLLOWERS_SERVE_SINCE: Final = 11
HARD_LIMITS_UNTIL: Final = 2  # versions whose limits cut the first batch, too

EXPECTED: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)  # refusals that Kafka does not count as failed requests


class FetchReader:
    """Reads what a request wants: once when it comes, and again after it has waited.

    `answers` are the partitions' answers in order, `size` the bytes in them; `decided` says that
    waiting for more would be pointless: an error or a diverging epoch is answered at once.
    `moved` are the partitions of which a follower's fetch may have committed more: whoever waits
    for that is to be woken.
    """

    __slots__ = (
        "answers",
        "bound",
        "broker_epoch",
        "decided",
        "is_first",
        "led_only",
        "left_bytes",
        "max_bytes",
        "min_bytes",
        "moved",
        "read_ahead",
        "read_replicas",
        "replica_id",
        "replicas",
        "size",
        "version",
        "wanted",
    )

    def __init__(
        self,
        replicas: Replicas,
        read_ahead: ReadAhead,
        request: FetchRequest,
        version: int,
        wanted: dict[Key, Wanted],
        most_bytes: int,
        read_replicas: ReadReplicas | None = None,
    ) -> None:
        """`read_replicas` chooses for a consumer that is to read near by."""
        self.replicas = replicas
        self.read_ahead = read_ahead
        self.version = version
        self.wanted = wanted
        self.replica_id = replica_id_of(request)
        self.broker_epoch = broker_epoch_of(request)
        self.led_only = self.replica_id >= 0 or version < FOLLOWERS_SERVE_SINCE
        self.read_replicas = read_replicas
        self.is_first = True
        self.moved: list[tuple[str, int]] = []
        self.max_bytes = min(request.max_bytes, most_bytes)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        if self.replica_id >= 0:
            self.bound = ReadBound.LOG_END
        elif request.isolation_level == READ_COMMITTED:
            self.bound = ReadBound.LAST_STABLE
        else:
            self.bound = ReadBound.HIGH_WATERMARK
        self.answers: list[tuple[Key, Wanted, PartitionData]] = []
        self.size = 0
        self.left_bytes = 0
        self.decided = False

    @property
    def is_enough(self) -> bool:
        """Whether what has been read need not wait for more."""
        return self.decided or self.size >= self.min_bytes

    def read_all(self) -> None:
        """Every partition's answer; after a ColdRead `read_rest_in_steps` has to follow."""
        self.start()
        for key, wanted in self.wanted.items():
            self._read_next(key, wanted)
        self.is_first = False

    def read_rest_in_steps(self) -> Waiting[None]:
        """Those that have none yet; meanwhile the session may change, so that they are copied."""
        for key, wanted in tuple(self.wanted.items())[len(self.answers) :]:
            yield from self._read_warmed(key, wanted)
            yield None
        self.is_first = False

    def _read_warmed(self, key: Key, wanted: Wanted) -> Waiting[None]:
        """Read one partition, when a thread has read what that takes from the disk."""
        try:
            self._read_next(key, wanted)
        except ColdRead as cold:
            yield from self.read_ahead.warm(partial(self._read_next, key, wanted), cold)

    def start(self) -> None:
        """Nothing has been read."""
        self.answers = []
        self.size = 0
        self.left_bytes = self.max_bytes
        self.decided = False

    def _read_next(self, key: Key, wanted: Wanted) -> None:
        """Read one partition, within what the others have left."""
        answer = PartitionData(
            partition_index=wanted.index,
            high_watermark=-1,
            aborted_transactions=None,
            records=EMPTY,
        )
        try:
            got = self._read(wanted, answer, self.left_bytes, self.size == 0)
        except (ApiError, StorageError) as error:
            self._refuse(answer, error)
            self._count_failure(error, wanted)
        else:
            self.size += got
            self.left_bytes = max(0, self.left_bytes - got)
            self.decided = self.decided or answer.diverging_epoch is not None
        self.answers.append((key, wanted, answer))

    def _read(
        self, wanted: Wanted, answer: PartitionData, left_bytes: int, nothing_yet: bool
    ) -> int:
        """Fill one partition's answer; the bytes it got."""
        if wanted.topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self.replicas.require(wanted.topic, wanted.index)
        partition.counts.total_fetch_requests += 1
        if wanted.is_of_another_topic(partition.topic_id):
            raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID)
        partition.check_readable(wanted.current_leader_epoch, self.led_only)
        if self.replica_id >= 0:
            partition.require_follower(self.replica_id, wanted.current_leader_epoch)
        log = partition.log
        answer.high_watermark = log.high_watermark
        answer.last_stable_offset = log.last_stable_offset
        answer.log_start_offset = log.log_start_offset
        if self.read_replicas is not None and partition.is_leader:
            chosen = self.read_replicas.choose(partition, wanted.fetch_offset)
            if chosen != NO_REPLICA:
                answer.preferred_read_replica = chosen
                self.decided = True
                return 0
        if wanted.last_fetched_epoch >= 0 and _diverges(partition, wanted, answer):
            return 0
        try:
            result = partition.read(
                wanted.fetch_offset,
                min(wanted.max_bytes, left_bytes),
                self.bound,
                nothing_yet and self.version > HARD_LIMITS_UNTIL,
            )
        except ColdRead:
            partition.counts.total_fetch_requests -= 1  # it will be counted again
            raise
        if self.is_first and self.replica_id >= 0:
            self._take_note(partition, wanted, answer)
        if self.replica_id >= 0 and self.replicas.leader_quota.is_on:
            if holds_back(self.replicas.leader_quota, partition, self.replica_id):
                return 0
        if result.first_entry_incomplete and (
            self.version > HARD_LIMITS_UNTIL or (not nothing_yet and left_bytes < wanted.max_bytes)
        ):
            return 0
        if result.aborted_transactions is not None:
            answer.aborted_transactions = [
                AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
                for producer_id, first_offset in result.aborted_transactions
            ]
        if result.records is None:
            return 0
        answer.records = result.records
        size = len(result.records)
        if self.replica_id >= 0:
            partition.counts.replication_bytes_out += size
            quota = self.replicas.leader_quota
            if quota.is_on and is_throttled(quota, partition):
                quota.record(size)
        else:
            partition.counts.bytes_out += size
        return size

    def _take_note(self, partition: Partition, wanted: Wanted, answer: PartitionData) -> None:
        """The follower has everything below what it asks for, and has the news at once."""
        if partition.follower_fetched(
            self.replica_id, self.broker_epoch, wanted.fetch_offset, wanted.log_start_offset
        ):
            self.moved.append(partition.key)
            answer.high_watermark = partition.log.high_watermark
            answer.last_stable_offset = partition.log.last_stable_offset

    def _refuse(self, answer: PartitionData, error: Exception) -> None:
        """Fill the answer of a partition that cannot be read."""
        answer.error_code = int(code_of(error))
        answer.high_watermark = answer.last_stable_offset = answer.log_start_offset = -1
        answer.records = EMPTY
        self.decided = True

    def _count_failure(self, error: Exception, wanted: Wanted) -> None:
        """Count a fetch that failed by what a broker need not expect."""
        counts = self.replicas.counts_of(wanted.topic or "")
        if counts is not None and code_of(error) not in EXPECTED:
            counts.failed_fetch_requests += 1


def is_throttled(quota: ReplicationQuota, partition: Partition) -> bool:
    """Whether what followers take of a partition led here counts."""
    throttled = partition.log.config.leader_replication_throttled_replicas
    return quota.applies(throttled, partition.index)


def holds_back(quota: ReplicationQuota, partition: Partition, replica_id: int) -> bool:
    """Whether a follower gets nothing for now: those in sync always get what there is."""
    if replica_id in partition.isr or not is_throttled(quota, partition):
        return False
    return quota.is_exceeded


def _diverges(partition: Partition, wanted: Wanted, answer: PartitionData) -> bool:
    """Whether the client has read what this log does not hold, and since where (KIP-595)."""
    epoch, end_offset = partition.end_offset_for_epoch(wanted.last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch >= wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
        return False
    answer.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return True
