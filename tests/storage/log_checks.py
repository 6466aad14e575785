"""What must be true of any log, whatever happened to it."""

from barnabas.storage.batch.header import BatchHeader, crc_is_valid, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.segment.segment import Segment

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
