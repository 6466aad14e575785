"""Fetch: slices of log files, sent by `sendfile`, never decoded.

* The first partition with data gives its first batch whole (KIP-74): `fetch_reader`.
* Waits up to `max_wait_ms` for `min_bytes`; an error or a diverging epoch answers at once.
* v0-v1 understand message format 0, v2-v3 format 1: newer batches are converted.
* v4: isolation level, aborted transactions (KIP-98). v7: sessions (KIP-227).
* v9: leader epochs are checked (KIP-320). v12: diverging epochs (KIP-595).
* v13: topics by id (KIP-516). A session keeps the name of an id: deleted, the topic is unknown
  by its name (3), and made again under the same name it is another topic (103).
* v11: followers answer consumers, too, and leaders name one that is near (KIP-392).
* v16: a leader that moved is named (KIP-951).
* Not Kafka's, on purpose: a consumer's parked fetch is answered early when another request
  that is no Fetch waits behind it on its connection.
"""

from typing import Any, Final

from barnabas.server.cluster.moved_leaders import MOVED, current_leader, node_endpoints
from barnabas.server.core.delayed import Wait, look_again
from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced, Waiting
from barnabas.server.handlers import Versions
from barnabas.server.replication.converting_reader import CONVERTED_BELOW, ConvertingReader
from barnabas.server.replication.fetch_reader import EMPTY, FetchReader
from barnabas.server.replication.fetch_sessions import (
    Key,
    Session,
    Wanted,
    wanted_in_steps,
    wanted_of,
)
from barnabas.server.replication.read_replica import RACK_AWARE, ReadReplicas
from barnabas.server.replication.watched_fetch import WatchedFetch
from barnabas.server.requests.context import RequestContext
from barnabas.storage.disk.open_files import ColdRead
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

VERSIONS = Versions(0, 18)
TOPIC_IDS_SINCE: Final = 13
LEADERS_NAMED_SINCE: Final = 16
MANY_PARTITIONS: Final = 128  # above that a fetch is served in steps


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
    try:
        fetch.reader.read_all()
    except ColdRead:
        return Sliced(fetch.go_on_in_steps())
    if fetch.is_enough:
        fetch.wake_waiting()
        return fetch.respond()
    # Parked first: who is woken may write what this fetch waits for.
    wait = fetch.park()
    fetch.wake_waiting()
    return wait


def _is_large(request: FetchRequest) -> bool:
    topics = request.topics
    if len(topics) > MANY_PARTITIONS:
        return True
    return any(len(topic.partitions) > MANY_PARTITIONS for topic in topics)


def _serve_in_steps(
    request: FetchRequest, context: RequestContext
) -> Waiting[FetchResponse | Wait[FetchResponse]]:
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

    __slots__ = ("context", "incremental", "leaders", "reader", "request", "served", "session")

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
        self.incremental = incremental
        self.reader = _reader_of(request, context, wanted)
        # What the response holds: partitions with data, and leaders to be found.
        self.served: list[Key]
        self.leaders: list[LeaderIdAndEpoch]

    @property
    def is_enough(self) -> bool:
        """Whether what has been read is answered without waiting."""
        reader = self.reader
        return reader.is_enough or self.request.max_wait_ms <= 0 or not reader.wanted

    def park(self) -> Wait[FetchResponse]:
        """Wait for more than there is by now; a consumer's fetch gives way to other requests."""
        reader = self.reader
        watched = WatchedFetch(reader)
        wait: Wait[Any] = self.context.broker.fetches.park(
            watched.keys, self.request.max_wait_ms, watched.is_ready, self.read_and_respond
        )
        wait.gives_way = reader.replica_id < 0
        return wait

    def wake_waiting(self) -> None:
        """A follower has come so far that more is committed: answer who waits for that."""
        moved = self.reader.moved
        if not moved:
            return
        self.reader.moved = []
        broker = self.context.broker
        for key in moved:
            broker.produces.complete(key)
            broker.deletions.complete(key)
            broker.fetches.complete(key)

    def serve_in_steps(self) -> Waiting[FetchResponse | Wait[FetchResponse]]:
        """Read, then answer or park."""
        self.reader.start()
        return (yield from self.go_on_in_steps())

    def go_on_in_steps(self) -> Waiting[FetchResponse | Wait[FetchResponse]]:
        """The same, from where reading stopped, for as long as somebody is there to be answered.

        Who waits for what is committed by it does not wait for the disk that the rest is on. A
        follower that is gone may come back with less than its fetch says.
        """
        self.wake_waiting()
        for awaited in self.reader.read_rest_in_steps():
            self.wake_waiting()
            yield awaited
            if self.context.connection.closed:
                return FetchResponse()
        if self.is_enough:
            return (yield from self._respond_in_steps())
        return (yield from look_again(self.park()))

    def read_and_respond(self) -> FetchResponse | Sliced[FetchResponse]:
        """The answer after the wait, whatever there is by now."""
        reader = self.reader
        if len(reader.wanted) > MANY_PARTITIONS or reader.version < CONVERTED_BELOW:
            reader.start()
            return Sliced(self._go_on_and_respond_in_steps())
        try:
            reader.read_all()
        except ColdRead:
            return Sliced(self._go_on_and_respond_in_steps())
        return self.respond()

    def _go_on_and_respond_in_steps(self) -> Waiting[FetchResponse]:
        yield from self.reader.read_rest_in_steps()
        return (yield from self._respond_in_steps())

    def respond(self) -> FetchResponse:
        """The response; an incremental one leaves out what the client knows already."""
        response = self._start_response()
        for key, wanted, answer in self.reader.answers:
            self._include(response.responses, key, wanted, answer)
        return self._complete(response)

    def _respond_in_steps(self) -> Steps[FetchResponse]:
        response = self._start_response()
        for key, wanted, answer in self.reader.answers:
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
        if answer.error_code and answer.error_code in MOVED:
            self._name_leader(wanted, answer)
        last = topics[-1] if topics else None
        if last is None or last.topic_id != wanted.topic_id or last.topic != (wanted.topic or ""):
            last = FetchableTopicResponse(topic=wanted.topic or "", topic_id=wanted.topic_id)
            topics.append(last)
        last.partitions.append(answer)

    def _name_leader(self, wanted: Wanted, answer: PartitionData) -> None:
        """Say who leads a partition that this broker does not."""
        if self.reader.version < LEADERS_NAMED_SINCE or wanted.topic is None:
            return
        metadata = self.context.broker.metadata
        leader = current_leader(LeaderIdAndEpoch, metadata, wanted.topic, wanted.index)
        if leader is not None:
            answer.current_leader = leader
            self.leaders.append(leader)

    def _complete(self, response: FetchResponse) -> FetchResponse:
        if self.session is not None:
            self.session.rotate(self.served)
        if self.leaders:
            context = self.context
            response.node_endpoints = node_endpoints(
                NodeEndpoint, context.broker.metadata, context.listener_name, self.leaders
            )
        return response


def _reader_of(
    request: FetchRequest, context: RequestContext, wanted: dict[Key, Wanted]
) -> FetchReader:
    broker, version = context.broker, context.header.api_version
    most_bytes = broker.config.fetch_max_bytes
    if version < CONVERTED_BELOW:
        return ConvertingReader(
            broker.replicas, broker.population.read_ahead, request, version, wanted, most_bytes
        )
    read_replicas = None
    if request.rack_id and broker.config.replica_selector_class == RACK_AWARE:
        read_replicas = ReadReplicas(broker.metadata, context.listener_name, request.rack_id)
    return FetchReader(
        broker.replicas, broker.population.read_ahead, request, version, wanted, most_bytes,
        read_replicas,
    )  # fmt: skip


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
