"""Index entries held against the batches they speak of.

Indexes carry no checksum. What an entry of the time or transaction index says can be checked
by one look at the `.log` file, and is before anybody relies on it; a lie is CorruptIndex, and
the index is made anew.
"""

from collections.abc import Iterator, Mapping

from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.errors import CorruptBatch, CorruptIndex
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction

_CHUNK_BYTES = 4096
_WALK_CHUNK_BYTES = 64 << 10
_WALKED_BYTES = 1 << 20
_SAMPLES = 64


def check_offset_entry(segment: Segment, offset: int, position: int) -> None:
    """Does a batch lie at this position that ends at or before this offset?"""
    opened, end = segment.log_file.open(), segment.size_bytes
    try:
        batches = read_batches(opened, max(position, 0), end, _CHUNK_BYTES)
        is_credible = position >= 0 and next(batches)[1].last_offset <= offset
    except (CorruptBatch, StopIteration):
        is_credible = False
    if not is_credible:
        raise CorruptIndex(f"{segment.offset_index.file.path}: {offset} is not at {position}")


def check_time_entry(segment: Segment, timestamp: int, offset: int) -> None:
    """Does the batch that holds `offset` have this largest timestamp?"""
    _require_timestamp(segment, _batch_at(segment, offset), timestamp, offset)


def _require_timestamp(
    segment: Segment, header: BatchHeader | None, timestamp: int, offset: int
) -> None:
    if header is None or header.max_timestamp != timestamp:
        raise CorruptIndex(
            f"{segment.time_index.file.path}: no batch at {offset} with timestamp {timestamp}"
            f" {_way(segment)}"
        )


def check_largest_timestamp(segment: Segment, timestamp: int, offset: int) -> None:
    """Has no batch of the segment a larger timestamp than this, the last of its time index?

    An index that has lost whole entries at its end looks like one whose segment's timestamps
    stopped rising there. So all batches of the next megabyte are asked, and behind that some at
    equal distances and the last ones: seldom more than one, as timestamps rise in most logs.
    """
    start = 0
    if timestamp >= 0:
        check_time_entry(segment, timestamp, offset)
        found = segment.locate(offset)
        start = segment.size_bytes if found is None else found[0]
    try:
        larger = next((each for each in _timestamps(segment, start) if each > timestamp), None)
    except CorruptBatch:
        return  # whoever reads it is told
    if larger is not None:
        raise _too_low(segment, timestamp, larger)


def _too_low(segment: Segment, timestamp: int, larger: int) -> CorruptIndex:
    path = segment.time_index.file.path
    return CorruptIndex(f"{path}: ends with {timestamp}, a batch has {larger}")


def read_checked_end(segment: Segment) -> int:
    """The offset after the last batch; the largest timestamp of the segment has been checked.

    While the offset index has no entry both walks begin with the first batch, and are one: most
    of the segments that a start looks into are of a few batches. Raises CorruptBatch if the end
    of the file is no batch, and CorruptIndex.
    """
    if segment.offset_index.count:
        end = segment.read_next_offset()
        check_largest_timestamp(segment, *segment.largest_timestamp())
        return end
    if not segment.size_bytes:
        check_largest_timestamp(segment, *segment.largest_timestamp())
        return segment.base_offset
    return _walk_to_end(segment, *segment.largest_timestamp())


def _walk_to_end(segment: Segment, timestamp: int, offset: int) -> int:
    end, larger, holder = segment.base_offset, timestamp, None
    opened = segment.log_file.open()
    for position, header, _ in read_batches(opened, 0, segment.size_bytes, _WALK_CHUNK_BYTES):
        end = header.next_offset
        if timestamp >= 0 and holder is None:
            if end <= offset:
                continue
            if header.base_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                raise CorruptBatch(f"{segment.log_file.path}: no batch at position {position}")
            holder = header
        if larger == timestamp:
            larger = max(header.max_timestamp, timestamp)
    if timestamp >= 0:
        _require_timestamp(segment, holder, timestamp, offset)
    if larger > timestamp:
        raise _too_low(segment, timestamp, larger)
    return end


def _timestamps(segment: Segment, start: int) -> Iterator[int]:
    """Largest timestamps of the batches from a position on, or of enough of them."""
    log = segment.log_file.open()  # held: looking into the index may take its place in the cache
    end = segment.size_bytes
    for position, header, _ in read_batches(log, start, end, _WALK_CHUNK_BYTES):
        yield header.max_timestamp
        if position >= start + _WALKED_BYTES:
            break
    else:
        return
    index = segment.offset_index
    first = index.find_floor(1, start + _WALKED_BYTES)[0] + 1
    for slot in range(first, index.count, max((index.count - first) // _SAMPLES, 1)):
        place = index.entry(slot)[1]
        yield next(read_batches(log, place, end, _CHUNK_BYTES))[1].max_timestamp
    for _, header, _ in read_batches(log, index.last_position, end, _WALK_CHUNK_BYTES):
        yield header.max_timestamp


def check_aborted(segment: Segment, open_before: Mapping[int, int] | None) -> None:
    """Does every aborted transaction of the segment have its marker in it?

    `open_before` are the transactions that were open where the segment begins, first offsets by
    producer id, None if that is not known. What it cannot show is a first offset that has
    become that of a later batch of the same transaction, both inside the segment.
    """
    for entry in segment.transaction_index.entries():
        is_credible = _is_credible(segment, entry)
        if is_credible and open_before is not None:
            is_credible = _agrees(segment, entry, open_before.get(entry.producer_id))
        if not is_credible:
            raise CorruptIndex(
                f"{segment.transaction_index.file.path}: {entry} is not what the batches say"
                f" {_way(segment)}"
            )


def _way(segment: Segment) -> str:
    """It may be the offset index that lies."""
    return f"to which {segment.offset_index.file.path.rpartition('/')[2]} leads"


def _is_credible(segment: Segment, entry: AbortedTransaction) -> bool:
    """The marker lies in this segment; the first batch may lie before it, or be compacted away."""
    marker = _batch_at(segment, entry.last_offset)
    if marker is None or not marker.is_control or marker.producer_id != entry.producer_id:
        return False
    first, last = entry.first_offset, entry.last_offset
    if not 0 <= first < last or not 0 <= entry.last_stable_offset <= last + 1:
        return False
    if first < segment.base_offset:
        return True
    batch = _batch_at(segment, first)
    return (
        batch is None
        or batch.base_offset > first
        or (batch.base_offset == first and batch.producer_id == entry.producer_id)
    )


def _agrees(segment: Segment, entry: AbortedTransaction, opened_at: int | None) -> bool:
    """Is this the transaction that was open where the segment begins, or one behind it?"""
    if entry.first_offset < segment.base_offset or opened_at is None:
        return opened_at == entry.first_offset or entry.first_offset >= segment.base_offset
    for _, header, _ in read_batches(segment.log_file.open(), 0, segment.size_bytes):
        if header.base_offset >= entry.first_offset:
            return False
        if header.is_control and header.producer_id == entry.producer_id:
            return True
    return False


def _batch_at(segment: Segment, offset: int) -> BatchHeader | None:
    found = segment.locate(offset)
    if found is None:
        return None
    opened, end = segment.log_file.open(), segment.size_bytes
    return next(read_batches(opened, found[0], end, _CHUNK_BYTES))[1]
