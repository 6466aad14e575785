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
* v13: topics by id (KIP-516). A session keeps the name of an id: deleted, the topic is unknown
  by its name (3), and made again under the same name it is another topic (103).
* v16: a leader that moved is named (KIP-951).
* Not Kafka's, on purpose: a consumer's parked fetch is answered early when another request
  that is no Fetch waits behind it on its connection.
"""

from collections.abc import Hashable
from typing import Any, Final

from barnabas.server.cluster.moved_leaders import MOVED, current_leader, node_endpoints
from barnabas.server.core.delayed import Wait
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.replication.fetch_sessions import (
    Key,
    Session,
    Wanted,
    wanted_in_steps,
    wanted_of,
)
from barnabas.server.replication.partition import READ_COMMITTED, Partition
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.fetcher import replica_id_of
from barnabas.storage.batch.down_conversion import down_convert_in_steps, needs_down_conversion
from barnabas.storage.batch.header import walk
from barnabas.storage.disk.open_files import FileSlice
from barnabas.storage.errors import StorageError
from barnabas.storage.log.results import ReadBound
from barnabas.wire.compiler import Steps
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
CONVERTED_BELOW: Final = 4  # versions that may not know the format of what is stored
TOPIC_IDS_SINCE: Final = 13
MANY_PARTITIONS: Final = 128  # above that a fetch is served in steps
# So much of a log is converted for one answer; a client comes back for more.
MOST_CONVERTED_BYTES: Final = 1 << 20
BATCH_OVERHEAD_BYTES: Final = 1024  # what a batch may have beyond max.message.bytes, and more

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


def handle(
    request: FetchRequest, context: RequestContext
) -> FetchResponse | Wait[FetchResponse] | Sliced[FetchResponse | Wait[FetchResponse]]:
    """Answer with what is there if it is enough, else wait for more."""
    version = context.header.api_version
    if version < CONVERTED_BELOW or _is_large(request):
        return Sliced(_serve_in_steps(request, context))
    broker = context.broker
    name_of = broker.metadata.name_of
    asked = wanted_of(request, version >= TOPIC_IDS_SINCE, name_of)
    try:
        session, wanted, incremental = broker.fetch_sessions.begin(
            request, version >= TOPIC_IDS_SINCE, asked, name_of, broker.clock.monotonic_ms()
        )
    except ApiError as error:
        return FetchResponse(error_code=int(error.code))
    fetch = _Fetch(request, context, session, wanted, incremental)
    if len(wanted) > MANY_PARTITIONS:
        return Sliced(fetch.serve_in_steps())
    fetch.read_all()
    return fetch.respond() if fetch.is_enough() else fetch.park()


def _is_large(request: FetchRequest) -> bool:
    topics = request.topics
    if len(topics) > MANY_PARTITIONS:
        return True
    return any(len(topic.partitions) > MANY_PARTITIONS for topic in topics)


def _serve_in_steps(
    request: FetchRequest, context: RequestContext
) -> Steps[FetchResponse | Wait[FetchResponse]]:
    """The same for a request that names many partitions, or wants them converted."""
    broker = context.broker
    by_id = context.header.api_version >= TOPIC_IDS_SINCE
    name_of = broker.metadata.name_of
    asked = yield from wanted_in_steps(request, by_id, name_of)
    try:
        session, wanted, incremental = broker.fetch_sessions.begin(
            request, by_id, asked, name_of, broker.clock.monotonic_ms()
        )
    except ApiError as error:
        return FetchResponse(error_code=int(error.code))
    fetch = _Fetch(request, context, session, wanted, incremental)
    return (yield from fetch.serve_in_steps())


class _Fetch:
    """One fetch request being served: read once, and again after waiting."""

    __slots__ = (
        "answers",
        "bound",
        "context",
        "decided",
        "incremental",
        "leaders",
        "left_bytes",
        "max_bytes",
        "min_bytes",
        "replica_id",
        "request",
        "served",
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
        # What has been read: the answers, their bytes, whether waiting would be pointless.
        self.answers: list[tuple[Key, Wanted, PartitionData]] = []
        self.size = 0
        self.left_bytes = 0
        self.decided = False
        # What the response holds of it: partitions with data, and leaders to be found.
        self.served: list[Key]
        self.leaders: list[LeaderIdAndEpoch]
        # While it is parked: what it waits for, and the bytes there are (`size` in all), by key.
        self.watched: dict[Hashable, Wanted]
        self.watched_bytes: dict[Hashable, int]
        self.version = context.header.api_version
        self.replica_id = replica_id_of(request)
        self.max_bytes = min(request.max_bytes, context.broker.config.fetch_max_bytes)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        if self.version < CONVERTED_BELOW:
            self.min_bytes = min(self.min_bytes, MOST_CONVERTED_BYTES // 2)
        if self.replica_id >= 0:
            self.bound = ReadBound.LOG_END
        elif request.isolation_level == READ_COMMITTED:
            self.bound = ReadBound.LAST_STABLE
        else:
            self.bound = ReadBound.HIGH_WATERMARK

    def is_enough(self) -> bool:
        """Whether what has been read is answered without waiting."""
        return (
            self.decided
            or self.size >= self.min_bytes
            or self.request.max_wait_ms <= 0
            or not self.wanted
        )

    def park(self) -> Wait[FetchResponse]:
        """Wait for more; remember what there is by now."""
        self.watched = {}
        self.watched_bytes = {}
        for _, wanted, answer in self.answers:
            self.watched[wanted.topic, wanted.index] = wanted
            if answer.records is not EMPTY:
                self.watched_bytes[wanted.topic, wanted.index] = len(answer.records or EMPTY)
        wait: Wait[Any] = self.context.broker.fetches.park(
            list(self.watched), self.request.max_wait_ms, self.is_ready, self.read_and_respond
        )
        if self.replica_id < 0:
            self.context.connection.parked_fetch = wait
        return wait

    def serve_in_steps(self) -> Steps[FetchResponse | Wait[FetchResponse]]:
        """Read, then answer or park."""
        yield from self._read_in_steps()
        if self.is_enough():
            return (yield from self._respond_in_steps())
        return self.park()

    def read_all(self) -> None:
        """Every partition's answer."""
        self._start_reading()
        for key, wanted in self.wanted.items():
            self._read_next(key, wanted)

    def _read_in_steps(self) -> Steps[None]:
        """The same; meanwhile the session may change, so that its partitions are copied."""
        self._start_reading()
        for key, wanted in tuple(self.wanted.items()):
            if self.version < CONVERTED_BELOW:
                yield from self._read_converted(key, wanted)
            else:
                self._read_next(key, wanted)
            yield

    def _start_reading(self) -> None:
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
            self._report(answer, error, wanted)
            self._count_failure(error, wanted)
            self.decided = True
        else:
            self.size += got
            self.left_bytes = max(0, self.left_bytes - got)
            self.decided = self.decided or answer.diverging_epoch is not None
        self.answers.append((key, wanted, answer))

    def is_ready(self, key: Hashable) -> bool:
        """Whether the partition that changed makes the answer big enough, or an error.

        The others are as they were when they were last asked: a fetch of thousands of
        partitions would otherwise make a produce to any of them thousands of times dearer.
        """
        wanted = self.watched[key]
        partition = self.context.broker.replicas.find(wanted.topic or "", wanted.index)
        if partition is None or not partition.is_leader:
            return True
        if wanted.is_of_another_topic(partition.topic_id):
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

    def read_and_respond(self) -> FetchResponse | Sliced[FetchResponse]:
        """The answer after the wait, whatever there is by now."""
        if len(self.wanted) > MANY_PARTITIONS or self.version < CONVERTED_BELOW:
            return Sliced(self._read_and_respond_in_steps())
        self.read_all()
        return self.respond()

    def _read_and_respond_in_steps(self) -> Steps[FetchResponse]:
        yield from self._read_in_steps()
        return (yield from self._respond_in_steps())

    def respond(self) -> FetchResponse:
        """The response; an incremental one leaves out what the client knows already."""
        response = self._start_response()
        for key, wanted, answer in self.answers:
            self._include(response.responses, key, wanted, answer)
        return self._complete(response)

    def _respond_in_steps(self) -> Steps[FetchResponse]:
        response = self._start_response()
        for key, wanted, answer in self.answers:
            self._include(response.responses, key, wanted, answer)
            yield
        return self._complete(response)

    def _start_response(self) -> FetchResponse:
        self.served = []
        self.leaders = []
        return FetchResponse(session_id=self.session.session_id if self.session else 0)

    def _include(
        self,
        topics: list[FetchableTopicResponse],
        key: Key,
        wanted: Wanted,
        answer: PartitionData,
    ) -> None:
        """Neighbouring partitions of one topic share an entry; the order stays."""
        if self.session is not None:
            if answer.records is not EMPTY:
                self.served.append(key)
            if self.incremental and not wanted.must_be_told(answer):
                return
            wanted.tell(answer)
        if answer.current_leader is not None:
            self.leaders.append(answer.current_leader)
        last = topics[-1] if topics else None
        if last is None or last.topic_id != wanted.topic_id or last.topic != (wanted.topic or ""):
            last = FetchableTopicResponse(topic=wanted.topic or "", topic_id=wanted.topic_id)
            topics.append(last)
        last.partitions.append(answer)

    def _complete(self, response: FetchResponse) -> FetchResponse:
        if self.session is not None:
            self.session.rotate(self.served)
        if self.version >= 16:
            response.node_endpoints = node_endpoints(
                NodeEndpoint,
                self.context.broker.metadata,
                self.context.listener_name,
                self.leaders,
            )
        return response

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
        partition.counts.total_fetch_requests += 1
        if wanted.is_of_another_topic(partition.topic_id):
            raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID)
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
        size = len(result.records)
        partition.counts.bytes_out += size
        return size

    def _read_converted(self, key: Key, wanted: Wanted) -> Steps[None]:
        """Read one partition for a client that may not know the format it is stored in.

        What is converted for one answer is bounded, whatever the client would take, except that
        it holds a batch of the topic's largest size: a client must not stay where it is for ever.
        """
        partition = self.context.broker.replicas.find(wanted.topic or "", wanted.index)
        if partition is not None:
            largest = partition.log.config.max_message_bytes + BATCH_OVERHEAD_BYTES
            most = max(MOST_CONVERTED_BYTES, largest)
            self.left_bytes = min(self.left_bytes, most - min(most, self.size))
        self._read_next(key, wanted)
        answer = self.answers[-1][2]
        if not isinstance(answer.records, FileSlice):
            return
        stored = answer.records.read()
        magic = 0 if self.version < 2 else 1
        try:
            records = stored
            if (yield from needs_down_conversion(stored, magic)):
                assert partition is not None
                if not partition.log.config.message_downconversion_enable:
                    raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
                records = yield from down_convert_in_steps(stored, magic, wanted.fetch_offset)
                partition.counts.fetch_message_conversions += _converted_count(stored, magic)
        except (ApiError, StorageError) as error:
            self._report(answer, error, wanted)
            self.decided = True
            records = EMPTY
        else:
            answer.records = records
        self.size += len(records) - len(stored)

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

    def _count_failure(self, error: Exception, wanted: Wanted) -> None:
        """Count a fetch that failed by what a broker need not expect."""
        counts = self.context.broker.metrics.topics.get(wanted.topic or "")
        if counts is not None and code_of(error) not in EXPECTED:
            counts.failed_fetch_requests += 1

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


def _converted_count(stored: bytes, magic: int) -> int:
    """How many records lie in the batches that a client of format `magic` gets converted."""
    headers = walk(stored, partial_tail=True)
    return sum(max(1, header.record_count) for header in headers if header.magic > magic)


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
