"""What must be true of any log, whatever happened to it."""

from collections.abc import Iterable, Mapping
from enum import Enum

from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import BatchHeader, crc_is_valid, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.log.results import ReadBound
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.producers.updates import marker_of
from barnabas.storage.segment.segment import Segment

SERIAL = "s"
"""Header that holds a record's number, which no other record of the history has."""


class Role(Enum):
    """What a record is to its transaction."""

    DATA = "data"
    COMMIT = "commit"
    ABORT = "abort"


Transactions = dict[bytes, tuple[int, Role]]
"""Of transactional records, by their numbers: the producer, and what they are."""
ABORT_KEY = EndTransactionMarker(False, 0).key
Found = list[tuple[int, BatchHeader, list[Record]]]
"""(base offset of the segment, header, records) of batches on the disk."""


def batches_of(log: ManagedLog) -> Found:
    """Every batch on the disk, each with a good CRC."""
    found = []
    for segment in log.segments:
        data = segment.slice(0, segment.size_bytes).read() if segment.exists else b""
        assert len(data) == segment.size_bytes, (segment.base_offset, len(data))
        for header in walk(data):
            assert crc_is_valid(data, header), (segment.base_offset, header)
            found.append((segment.base_offset, header, list(decode_batch(data, header))))
    return found


def check_indexes(log: ManagedLog, found: Found, *, may_mend: bool = False) -> None:
    """Every entry points where it says, every batch is found, the largest timestamp is known.

    `may_mend` is for logs that power cuts have been at: an index with damage is made anew when
    somebody is misled by it, so only what everybody is told has to be right.
    """
    for segment in log.segments:
        if segment.exists:
            headers = [header for base, header, _ in found if base == segment.base_offset]
            if may_mend:
                _check_answers_mending(log, segment, headers)
            else:
                _check_entries(segment, headers)
                _check_answers(segment, headers)


def _check_entries(segment: Segment, headers: list[BatchHeader]) -> None:
    ends = {header.position: header.last_offset for header in headers}
    for offset, position in segment.offset_index.entries():
        assert ends[position] == offset
    largest = -1
    for timestamp, offset in segment.time_index.entries():
        assert timestamp > largest
        largest = timestamp
        assert timestamp == max(h.max_timestamp for h in headers if h.last_offset <= offset)


def _check_answers(segment: Segment, headers: list[BatchHeader]) -> None:
    for header in headers:
        place = segment.locate(header.last_offset)
        assert place is not None and place[0] == header.position
    largest = max((header.max_timestamp for header in headers), default=-1)
    assert segment.largest_timestamp()[0] == largest


def _check_answers_mending(log: ManagedLog, segment: Segment, headers: list[BatchHeader]) -> None:
    log.age_of(segment)
    try:
        _check_answers(segment, headers)
    except CorruptIndex as error:
        log.store.indexes.mend(segment, error)
        _check_answers(segment, headers)


def check_producers(log: ManagedLog, found: Found, producer_id: int = 7) -> None:
    """The last sequence of an idempotent producer, from its batches."""
    ours = [header for _, header, _ in found if header.producer_id == producer_id]
    if ours and ours[-1].base_offset >= log.log_start_offset:
        entry = {each.producer_id: each for each in log.producer_entries()}[producer_id]
        assert (entry.last_sequence, entry.last_data_offset) == (
            ours[-1].last_sequence,
            ours[-1].last_offset,
        )


def serial_of(record: Record) -> bytes:
    ((name, value),) = record.headers
    assert name == SERIAL and value is not None
    return value


def is_marker(record: Record, transactions: Transactions) -> bool:
    return transactions.get(serial_of(record), (-1, Role.DATA))[1] is not Role.DATA


def outcomes_among(
    records: Iterable[Record], transactions: Mapping[bytes, tuple[int, Role]]
) -> tuple[set[int], set[int]]:
    """Offsets of the records whose transaction was aborted, and of those where it is open.

    The records come in order.
    """
    aborted: set[int] = set()
    open_: dict[int, list[int]] = {}
    for record in records:
        number = serial_of(record)
        if number not in transactions:
            continue
        producer_id, role = transactions[number]
        if role is Role.DATA:
            open_.setdefault(producer_id, []).append(record.offset)
            continue
        offsets = open_.pop(producer_id, [])
        if role is Role.ABORT:
            aborted.update(offsets)
    return aborted, {offset for offsets in open_.values() for offset in offsets}


def check_committed(log: ManagedLog, found: Found) -> None:
    """A reader of committed data is given what was committed, all of it and nothing else."""
    start, stable = log.log_start_offset, log.last_stable_offset
    aborted: set[int] = set()
    undecided: dict[int, list[int]] = {}
    data: list[int] = []
    for _, header, records in found:
        offsets = [record.offset for record in records]
        if header.is_control:
            decided = undecided.pop(header.producer_id, []) if records else []
            aborted.update(decided if records and records[0].key == ABORT_KEY else [])
            continue
        if header.next_offset <= stable:  # a high watermark may lie within a batch
            data += offsets
        if header.is_transactional:
            undecided.setdefault(header.producer_id, []).extend(offsets)
    open_offsets = [each for offsets in undecided.values() for each in offsets if each >= start]
    assert min(open_offsets, default=stable) >= stable, (stable, undecided)
    expected = [each for each in data if start <= each and each not in aborted]
    for max_bytes in (1, 300, 1 << 20):
        read = read_committed(log, max_bytes)
        assert read == expected, f"committed {expected}, read {read}, of {start} to {stable}"


def read_committed(log: ManagedLog, max_bytes: int) -> list[int]:
    """Offsets of what a client with `isolation.level=read_committed` takes for records."""
    offset, read = log.log_start_offset, []
    while offset < log.last_stable_offset:
        result = log.read(offset, max_bytes, bound=ReadBound.LAST_STABLE)
        if result.records is None:
            break
        assert result.aborted_transactions is not None
        upcoming = sorted((first, who) for who, first in result.aborted_transactions)
        aborting: set[int] = set()
        chunk = result.records.read()
        for header in walk(chunk, partial_tail=True):
            while upcoming and upcoming[0][0] <= header.last_offset:
                aborting.add(upcoming.pop(0)[1])
            if header.is_control:
                marker = marker_of(chunk, header)
                if marker is not None and not marker.is_commit:
                    aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                read += [r.offset for r in decode_batch(chunk, header) if r.offset >= offset]
            next_offset = header.next_offset
        assert next_offset > offset
        offset = next_offset
    return read
