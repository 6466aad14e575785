"""Transaction markers are written into the partitions that this broker leads.

One control batch a partition, safe when all in-sync replicas have it; then the offsets that the
transaction committed for groups of that partition take effect. A request of another broker and
one of this broker to itself go the same way.

A partition of __consumer_offsets that is still being loaded needs no more than its marker: it
stands in the log before the loading has reached its end, and is read there. Told twice, by the
log and by its writer, it changes nothing the second time.
"""

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import NamedTuple

from barnabas.server.coordinators.writer import ALL_REPLICAS, outcome
from barnabas.server.core.awaiting import given
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Deferred, Delayed
from barnabas.server.core.errors import ApiError, code_of, is_expected
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.storage.batch.builder import build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

Flush = Callable[[ManagedLog, Callable[[], object]], object]
EndOffsets = Callable[[int, Iterable[int], bool], object]
"""Told the producer, partitions of __consumer_offsets and whether its offsets take effect."""


class _Appended(NamedTuple):
    """A marker that is in the log of one partition and ends there."""

    marker: WritableTxnMarker
    partition: Partition
    end: int


class _Answer:
    """What becomes of every partition of one request; given when the last one is known."""

    def __init__(self) -> None:
        self.deferred: Deferred[WriteTxnMarkersResponse] = Deferred()
        self.unsettled = 1  # the request itself, until all of it has been appended
        self._codes: dict[int, dict[str, dict[int, ErrorCode]]] = {}

    def tell(self, marker: WritableTxnMarker, topic: str, index: int, code: ErrorCode) -> None:
        """What became of a marker in one partition; by producer, as Kafka's brokers read it."""
        self._codes.setdefault(marker.producer_id, {}).setdefault(topic, {})[index] = code

    def settled(self) -> None:
        """One more is known."""
        self.unsettled -= 1
        if not self.unsettled:
            self.deferred.give(self._response())

    def _response(self) -> WriteTxnMarkersResponse:
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=producer_id,
                    topics=[_topic_result(name, codes) for name, codes in topics.items()],
                )
                for producer_id, topics in self._codes.items()
            ]
        )


def _topic_result(name: str, codes: dict[int, ErrorCode]) -> WritableTxnMarkerTopicResult:
    return WritableTxnMarkerTopicResult(
        name=name,
        partitions=[
            WritableTxnMarkerPartitionResult(partition_index=index, error_code=int(code))
            for index, code in codes.items()
        ],
    )


class LocalMarkers:
    """Serves WriteTxnMarkers."""

    def __init__(
        self,
        replicas: Replicas,
        clock: Clock,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
        end_offsets: EndOffsets,
        timeout_ms: Callable[[], float],
        turns: Turns,
        log: Log,
    ) -> None:
        """`timeout_ms` is how long the other replicas have (`request.timeout.ms`)."""
        self._replicas = replicas
        self._clock = clock
        self._produces = produces
        self._fetches = fetches
        self._flush = flush
        self._end_offsets = end_offsets
        self._timeout_ms = timeout_ms
        self._turns = turns
        self._log = log

    async def serve(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        """Serve a request of this broker to itself."""
        return await given(await self._turns.run(self.write(request)))

    def write(self, request: WriteTxnMarkersRequest) -> Steps[Deferred[WriteTxnMarkersResponse]]:
        """Append every marker to its partitions; the answer comes when they are safe."""
        answer = _Answer()
        written: dict[Hashable, None] = {}
        for marker in request.markers:
            for topic in marker.topics:
                for index in topic.partition_indexes:
                    appended = self._append(marker, topic.name, index, answer)
                    if appended is not None:
                        written[appended.partition.key] = None
                        self._follow(appended, answer)
                    yield
        for key in written:
            self._fetches.complete(key)
            yield
        answer.settled()
        return answer.deferred

    def _append(
        self, marker: WritableTxnMarker, topic: str, index: int, answer: _Answer
    ) -> _Appended | None:
        """Append to one partition; None if that is refused, which the answer then says."""
        try:
            # As Kafka: what is not online here is unknown, wherever it may be.
            partition = self._replicas.find(topic, index)
            if partition is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            now_ms = self._clock.now_ms()
            info = partition.append(
                build_end_transaction_marker(
                    EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch),
                    producer_id=marker.producer_id,
                    producer_epoch=marker.producer_epoch,
                    timestamp_ms=now_ms,
                ),
                ALL_REPLICAS,
                now_ms,
                origin=AppendOrigin.COORDINATOR,
                transaction_version=marker.transaction_version,
            )
        except Exception as error:  # the markers of other transactions are written all the same
            if not is_expected(error):
                self._log.unexpected("a marker was not written", error, topic=topic, index=index)
            answer.tell(marker, topic, index, code_of(error))
            return None
        return _Appended(marker, partition, info.last_offset + 1)

    def _follow(self, appended: _Appended, answer: _Answer) -> None:
        """Tell the answer once the marker is safe, or cannot be any more."""
        partition, end = appended.partition, appended.end
        answer.unsettled += 1
        if partition.is_settled(end, ALL_REPLICAS):
            self._settle(appended, answer)
            return

        def is_ready(_: object) -> bool:
            return partition.is_settled(end, ALL_REPLICAS) or not partition.is_leader

        wait = self._produces.park([partition.key], self._timeout_ms(), is_ready, lambda: None)
        wait.then(lambda _: self._settle(appended, answer))
        if partition.is_flush_due(end):
            self._flush(partition.log, partial(self._produces.complete, partition.key))

    def _settle(self, appended: _Appended, answer: _Answer) -> None:
        marker, partition, end = appended
        code = outcome(partition, end, ALL_REPLICAS)
        if code is ErrorCode.NONE:
            code = self._take_effect(marker, partition)
        answer.tell(marker, partition.topic, partition.index, code)
        answer.settled()

    def _take_effect(self, marker: WritableTxnMarker, partition: Partition) -> ErrorCode:
        """A marker is safe: offsets of the transaction count from now on, or never were."""
        if partition.topic == OFFSETS_TOPIC:
            try:
                self._end_offsets(marker.producer_id, [partition.index], marker.transaction_result)
            except Exception as error:
                self._log.unexpected("offsets did not take effect", error, index=partition.index)
                return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.NONE


def refuse_markers(request: WriteTxnMarkersRequest, code: ErrorCode) -> WriteTxnMarkersResponse:
    """Every partition of every marker answers the error."""
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    _topic_result(topic.name, dict.fromkeys(topic.partition_indexes, code))
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )
