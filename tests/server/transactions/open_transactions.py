"""Transactions that are open in a partition, and what a partition says of their ends."""

from collections.abc import Iterable, Sequence

from barnabas.server.replication.partition import Partition
from barnabas.server.transactions.markers import EndedTransaction
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.log.results import ReadBound
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

PRODUCER = 7
NOW_MS = 1_700_000_000_000


def open_transaction(
    partition: Partition, producer_id: int = PRODUCER, epoch: int = 0, now_ms: int = NOW_MS
) -> None:
    """A producer that was verified writes its transaction's first record."""
    batch = build_batch(
        [Record(0, now_ms, b"k", b"v")], producer_id=producer_id, producer_epoch=epoch,
        base_sequence=0, is_transactional=True,
    )  # fmt: skip
    guard = partition.log.appender.start_transaction_verification(
        producer_id, epoch, 0, now_ms, can_bump_epoch=False
    )
    partition.append(batch, 1, now_ms, origin=AppendOrigin.COORDINATOR, verification_guard=guard)


def is_open(partition: Partition, producer_id: int = PRODUCER) -> bool:
    """Whether readers of committed data wait for the producer."""
    return producer_id in partition.log.producers.ongoing.values()


def marker(
    partitions: Iterable[tuple[str, int]],
    producer_id: int = PRODUCER,
    epoch: int = 0,
    *,
    is_commit: bool = True,
    coordinator_epoch: int = 0,
    version: int = 0,
) -> WritableTxnMarker:
    """A marker as another broker sends it."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=is_commit,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
            for name, indexes in topics.items()
        ],
        coordinator_epoch=coordinator_epoch,
        transaction_version=version,
    )


def request_of(*markers: WritableTxnMarker) -> WriteTxnMarkersRequest:
    """A request with these markers."""
    return WriteTxnMarkersRequest(markers=list(markers))


def codes_in(response: WriteTxnMarkersResponse) -> dict[tuple[int, str, int], int]:
    """Error codes by producer, topic and partition."""
    return {
        (result.producer_id, topic.name, each.partition_index): each.error_code
        for result in response.markers
        for topic in result.topics
        for each in topic.partitions
    }


def ended(*partitions: tuple[str, int], **changes: object) -> EndedTransaction:
    """A transaction whose end is to be made known."""
    made = EndedTransaction(
        transactional_id="txn",
        producer_id=PRODUCER,
        marker_epoch=0,
        is_commit=True,
        coordinator_epoch=0,
        transaction_version=0,
        partitions=frozenset(partitions),
    )
    return made._replace(**changes)


def markers_in(partition: Partition) -> Sequence[tuple[int, int, bool]]:
    """(producer, its epoch, whether it commits) of every marker in the log, in order."""
    log = partition.log
    markers, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1 << 24, bound=ReadBound.LOG_END).records
        assert found is not None
        data = found.read()
        for header in walk(data):
            offset = header.next_offset
            if header.is_control:
                control = parse_control(next(iter(decode_batch(data, header))))
                assert isinstance(control, EndTransactionMarker)
                markers.append((header.producer_id, header.producer_epoch, control.is_commit))
    return markers
