"""Fetch: slices of log files, sent by `sendfile`, never decoded.

* KIP-74: the first partition with data gives its first batch whole, whatever the limits say.
  Any other partition gives no bytes where its first batch does not fit: a client takes bytes
  without a whole batch for records too large, or passes over the partition without a word. Only
  behind a whole batch may a cut one follow. Before v3 a partition's limit is hard and cuts the
  first, too; what other partitions have left of the answer does not (in Kafka it does).
* Waits up to `max_wait_ms` for `min_bytes`; an error or a diverging epoch answers at once.
* v0-v1 understand message format 0, v2-v3 format 1: newer batches are converted.
* v4: isolation level, aborted transactions (KIP-98). v7: sessions (KIP-227).
* v9: leader epochs are checked (KIP-320). v12: diverging epochs (KIP-595).
* v13: topics by id (KIP-516). v16: a leader that moved is named (KIP-951).
* Not Kafka's, on purpose: a consumer's parked fetch is answered early when another request
  that is no Fetch waits behind it on its connection.
"""

from collections.abc import Hashable, Sequence
from typing import Final

from barnabas.server.cluster.moved_leaders import MOVED, current_leader, node_endpoints
from barnabas.server.core.context import RequestContext
from barnabas.server.core.delayed import Wait
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.handlers import Versions
from barnabas.server.replication.fetch_sessions import Key, Session, Wanted, replica_id_of
from barnabas.server.replication.partition import READ_COMMITTED, Partition
from barnabas.storage.batch.down_conversion import down_convert, needs_down_conversion
from barnabas.storage.errors import StorageError
from barnabas.storage.log.read_result import ReadBound
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

VERSIONS = Versions(0, 18)
EMPTY: Final = b""


def handle(request: FetchRequest, context: RequestContext) -> FetchResponse | Wait[FetchResponse]:
    """Answer with what is there if it is enough, else wait for more."""
    broker = context.broker
    version = context.header.api_version
    by_id = version >= 13
    try:
        session, wanted, incremental = broker.fetch_sessions.begin(
            request, by_id, broker.metadata.name_of, broker.clock.monotonic_ms()
        )
    except ApiError as error:
        return FetchResponse(error_code=int(error.code))
    fetch = _Fetch(request, context, session, wanted, incremental)
    answers, size, decided = fetch.read_all()
    if decided or size >= fetch.min_bytes or request.max_wait_ms <= 0 or not wanted:
        return fetch.respond(answers)
    wait = broker.fetches.park(
        fetch.watch(answers, size), request.max_wait_ms, fetch.is_ready, fetch.read_and_respond
    )
    if fetch.replica_id < 0:
        context.connection.parked_fetch = wait
    return wait


class _Fetch:
    """One fetch request being served: read once, and again after waiting."""

    __slots__ = (
        "bound",
        "context",
        "incremental",
        "max_bytes",
        "min_bytes",
        "replica_id",
        "request",
        "session",
        "size",
        "version",
        "wanted",
        "watched",
        "watched_bytes",
    )

    def __init__(
        self,
        request: FetchRequest,
        context: RequestContext,
        session: Session | None,
        wanted: dict[Key, Wanted],
        incremental: bool,
    ) -> None:
        self.request = request
        self.context = context
        self.session = session
        self.wanted = wanted
        self.incremental = incremental
        # While it is parked: what it waits for, by key, and the bytes there are, by key and in all.
        self.watched: dict[Hashable, Wanted]
        self.watched_bytes: dict[Hashable, int]
        self.size: int
        self.version = context.header.api_version
        self.replica_id = replica_id_of(request)
        self.max_bytes = min(request.max_bytes, context.broker.config.fetch_max_bytes)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        if self.replica_id >= 0:
            self.bound = ReadBound.LOG_END
        elif request.isolation_level == READ_COMMITTED:
            self.bound = ReadBound.LAST_STABLE
        else:
            self.bound = ReadBound.HIGH_WATERMARK

    def watch(self, answers: Sequence[tuple[Key, PartitionData]], size: int) -> list[Hashable]:
        """Remember what there is by now; the keys that the wait is parked under."""
        self.watched = {}
        self.watched_bytes = {}
        self.size = size
        for key, answer in answers:
            wanted = self.wanted[key]
            self.watched[wanted.topic, wanted.index] = wanted
            if answer.records is not EMPTY:
                self.watched_bytes[wanted.topic, wanted.index] = len(answer.records or EMPTY)
        return list(self.watched)

    def read_all(self) -> tuple[list[tuple[Key, PartitionData]], int, bool]:
        """Every partition's answer, the bytes in all, and whether waiting would be pointless."""
        answers: list[tuple[Key, PartitionData]] = []
        left_bytes = self.max_bytes
        size = 0
        decided = False
        for key, wanted in self.wanted.items():
            answer = PartitionData(
                partition_index=wanted.index,
                high_watermark=-1,
                aborted_transactions=None,
                records=EMPTY,
            )
            try:
                got = self._read(wanted, answer, left_bytes, size == 0)
            except (ApiError, StorageError) as error:
                self._report(answer, error, wanted)
                decided = True
            else:
                size += got
                left_bytes = max(0, left_bytes - got)
                decided = decided or answer.diverging_epoch is not None
            answers.append((key, answer))
        return answers, size, decided

    def is_ready(self, key: Hashable) -> bool:
        """Whether the partition that changed makes the answer big enough, or an error.

        The others are as they were when they were last asked: a fetch of thousands of
        partitions would otherwise make a produce to any of them thousands of times dearer.
        """
        wanted = self.watched[key]
        partition = self.context.broker.replicas.find(wanted.topic or "", wanted.index)
        if partition is None or not partition.is_leader:
            return True
        if wanted.fetch_offset > partition.log.log_end_offset:
            return True
        if self._end_offset(partition) <= wanted.fetch_offset:
            return False
        if self.min_bytes <= 1:
            return True
        size = partition.readable_bytes(wanted.fetch_offset, wanted.max_bytes, self.bound)
        self.size += size - self.watched_bytes.get(key, 0)
        self.watched_bytes[key] = size
        return self.size >= self.min_bytes

    def read_and_respond(self) -> FetchResponse:
        """The answer after the wait, whatever there is by now."""
        answers, _, _ = self.read_all()
        return self.respond(answers)

    def respond(self, answers: Sequence[tuple[Key, PartitionData]]) -> FetchResponse:
        """The response; an incremental one leaves out what the client knows already."""
        session = self.session
        if session is not None:
            served = [key for key, answer in answers if answer.records is not EMPTY]
            told = []
            for key, answer in answers:
                wanted = self.wanted[key]
                if not self.incremental or wanted.must_be_told(answer):
                    told.append((key, answer))
                    wanted.tell(answer)
            answers = told
            session.rotate(served)
        response = FetchResponse(
            session_id=session.session_id if session is not None else 0,
            responses=self._by_topic(answers),
        )
        if self.version >= 16:
            leaders = (answer.current_leader for _, answer in answers)
            response.node_endpoints = node_endpoints(
                NodeEndpoint, self.context.broker.metadata, self.context.listener_name, leaders
            )
        return response

    def _by_topic(
        self, answers: Sequence[tuple[Key, PartitionData]]
    ) -> list[FetchableTopicResponse]:
        """Neighbouring partitions of one topic share an entry; the order stays."""
        topics: list[FetchableTopicResponse] = []
        last: object = None
        for key, answer in answers:
            if key[0] != last or not topics:
                last = key[0]
                wanted = self.wanted[key]
                topics.append(
                    FetchableTopicResponse(topic=wanted.topic or "", topic_id=wanted.topic_id)
                )
            topics[-1].partitions.append(answer)
        return topics

    def _end_offset(self, partition: Partition) -> int:
        if self.bound is ReadBound.HIGH_WATERMARK:
            return partition.log.high_watermark
        if self.bound is ReadBound.LOG_END:
            return partition.log.log_end_offset
        return partition.log.last_stable_offset

    def _read(
        self, wanted: Wanted, answer: PartitionData, left_bytes: int, nothing_yet: bool
    ) -> int:
        """Fill one partition's answer; the bytes it got."""
        if wanted.topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self.context.broker.replicas.require(wanted.topic, wanted.index)
        partition.check_leader(wanted.current_leader_epoch)
        if self.replica_id >= 0 and self.replica_id not in partition.replicas:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = partition.log
        answer.high_watermark = log.high_watermark
        answer.last_stable_offset = log.last_stable_offset
        answer.log_start_offset = log.log_start_offset
        if wanted.last_fetched_epoch >= 0 and self._diverges(partition, wanted, answer):
            return 0
        result = partition.read(
            wanted.fetch_offset,
            min(wanted.max_bytes, left_bytes),
            self.bound,
            nothing_yet and self.version > 2,
        )
        if result.first_entry_incomplete and (
            self.version > 2 or (not nothing_yet and left_bytes < wanted.max_bytes)
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
        if self.version < 4:
            answer.records = self._converted(result.records.read(), wanted)
        size = len(answer.records)
        partition.counts.total_fetch_requests += 1
        partition.counts.bytes_out += size
        return size

    def _converted(self, records: bytes, wanted: Wanted) -> bytes:
        """The records in a format that a client of this version knows."""
        magic = 0 if self.version < 2 else 1
        if not needs_down_conversion(records, magic):
            return records
        return down_convert(records, magic, wanted.fetch_offset)

    @staticmethod
    def _diverges(partition: Partition, wanted: Wanted, answer: PartitionData) -> bool:
        """Whether the client has read what this log does not hold, and since where (KIP-595)."""
        epoch, end_offset = partition.end_offset_for_epoch(wanted.last_fetched_epoch)
        if epoch < 0 or end_offset < 0:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch >= wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
            return False
        answer.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
        return True

    def _report(self, answer: PartitionData, error: Exception, wanted: Wanted) -> None:
        """Fill the answer of a partition that cannot be read."""
        code = code_of(error)
        answer.error_code = int(code)
        answer.high_watermark = answer.last_stable_offset = answer.log_start_offset = -1
        answer.records = EMPTY
        if self.version >= 16 and code in MOVED and wanted.topic is not None:
            answer.current_leader = current_leader(
                LeaderIdAndEpoch, self.context.broker.metadata, wanted.topic, wanted.index
            )


def refuse(request: FetchRequest, code: ErrorCode) -> FetchResponse:
    """Every partition answers the error, in a response that older versions understand too."""
    return FetchResponse(
        error_code=int(code),
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    PartitionData(
                        partition_index=data.partition,
                        error_code=int(code),
                        high_watermark=-1,
                        records=EMPTY,
                    )
                    for data in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
