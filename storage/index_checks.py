"""Index entries held against the batches they speak of.

Indexes carry no checksum. What an entry of the time or transaction index says can be checked
by one look at the `.log` file, and is before anybody relies on it; a lie is CorruptIndex, and
the index is made anew.
"""

from barnabas.storage.batch import BatchHeader
from barnabas.storage.batch_reader import read_batches
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment import Segment
from barnabas.storage.transaction_index import AbortedTransaction

_CHUNK_BYTES = 4096


def check_time_entry(segment: Segment, timestamp: int, offset: int) -> None:
    """Does the batch that holds `offset` have this largest timestamp?"""
    header = _batch_at(segment, offset)
    if header is None or header.max_timestamp != timestamp:
        raise CorruptIndex(
            f"{segment.log_file.path}: no batch at offset {offset} with timestamp {timestamp}"
        )


def check_aborted(segment: Segment) -> None:
    """Does every aborted transaction of the segment have its marker in it?"""
    if not segment.transaction_index.exists:
        return
    for entry in segment.transaction_index.entries():
        if not _is_credible(segment, entry):
            raise CorruptIndex(f"{segment.log_file.path}: {entry} is not what its batches say")


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


def _batch_at(segment: Segment, offset: int) -> BatchHeader | None:
    found = segment.locate(offset)
    if found is None:
        return None
    fd = segment.log_file.open().fd
    pread, end = segment.files.fs.pread, segment.size_bytes
    return next(read_batches(pread, fd, found[0], end, _CHUNK_BYTES))[1]
