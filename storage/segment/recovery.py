"""Making a segment's indexes anew from its batches, and cutting what is no batch.

A segment that was not closed cleanly is read from its start: every batch must be whole, carry
the CRC of its bytes and offsets above those before it. The first that does not ends the
segment; what follows is cut off. Everything that derives from batches (indexes, producer
state, leader epochs) is built from the good ones.
"""

from collections.abc import Iterator

from barnabas.storage.batch.header import MAGIC_V2, MAX_OFFSET, crc_is_valid
from barnabas.storage.batch.reader import FoundBatch, read_batches
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import replay
from barnabas.storage.segment.segment import Segment


def recover_segment(
    segment: Segment,
    producers: ProducerState,
    epochs: LeaderEpochs | None,
    end_offset: int = MAX_OFFSET + 1,
) -> int:
    """Check every batch, rebuild what derives from them and cut the rest: bytes of it.

    Batches that reach `end_offset`, where the next segment begins, are cut too and not counted:
    a truncation had taken them away, and a power cut has brought them back.
    """
    size = segment.log_file.size()
    segment.reset_indexes()
    segment.size_bytes = 0
    try:
        for position, header, chunk in _valid_batches(segment, size):
            if header.last_offset >= end_offset:
                size = position
                break
            segment.note_batch(
                position,
                header.size_bytes,
                header.last_offset,
                header.max_timestamp,
                header.last_offset,
            )
            if header.magic >= MAGIC_V2:
                if epochs is not None and header.partition_leader_epoch > epochs.latest_epoch:
                    epochs.assign(header.partition_leader_epoch, header.base_offset)
                _replay(segment, producers, (position, header, chunk))
    except CorruptBatch:
        pass
    segment.cut(segment.size_bytes)
    segment.finish()
    return size - segment.size_bytes


def _valid_batches(segment: Segment, size: int) -> Iterator[FoundBatch]:
    last_offset = segment.base_offset - 1
    for found in read_batches(segment.log_file.open(), 0, size):
        _, header, chunk = found
        if not crc_is_valid(chunk, header):
            raise CorruptBatch("wrong CRC", offset=header.base_offset)
        is_possible = header.last_offset <= MAX_OFFSET and segment.can_hold(header.last_offset)
        if header.last_offset <= last_offset or not is_possible:
            raise CorruptBatch("offset out of order", offset=header.base_offset)
        last_offset = header.last_offset
        yield found


def _replay(segment: Segment, producers: ProducerState, found: FoundBatch) -> None:
    _, header, chunk = found
    if header.has_producer_id:
        for completed, stable_offset in replay(producers, chunk, header):
            if completed.is_aborted:
                segment.note_aborted(completed, stable_offset)
    producers.map_end_offset = header.next_offset


def rebuild_indexes(segment: Segment) -> None:
    """Make the offset and time index anew from the batch headers; CorruptBatch if they are bad."""
    end = segment.size_bytes
    segment.reset_offset_and_time_index()
    try:
        for position, header, _ in read_batches(segment.log_file.open(), 0, end):
            last_offset = header.last_offset
            segment.note_batch(
                position, header.size_bytes, last_offset, header.max_timestamp, last_offset
            )
    finally:
        segment.size_bytes = end
        segment.finish()
