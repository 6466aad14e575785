"""Splitting a segment whose offsets do not fit the four bytes an index entry has for them.

Compaction in Apache Kafka before 1.1.1 could write one, by putting segments together that lie
too far apart (KAFKA-6264). It is split as a finished compaction would be swapped in: the new
segments are complete on the disk as `.swap` files before the old one goes, and opening the log
carries the rest through. Source: Kafka's LocalLog.splitOverflowedSegment.
"""

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.fs import REPLACE, sync_directory, write_all
from barnabas.storage.errors import CorruptBatch, CorruptIndex
from barnabas.storage.file_names import CLEANED, LOG, SWAP, segment_path
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment

_COPY_BYTES = 1 << 20

Piece = tuple[int, int, int]
"""Base offset of a new segment, and the stretch [start, end) of the old file that is its own."""


def split_if_overflowing(segment: Segment, directory: str) -> list[int]:
    """Leave `.swap` files in the place of a segment that overflows: their base offsets."""
    if segment.can_hold(_last_offset(segment)):
        return []
    pieces = _pieces(segment)
    fs = segment.files.fs
    for piece in pieces:
        _copy(segment, piece, segment_path(directory, piece[0], LOG, CLEANED))
    for base_offset, _, _ in reversed(pieces):
        fs.rename(
            segment_path(directory, base_offset, LOG, CLEANED),
            segment_path(directory, base_offset, LOG, SWAP),
        )
    sync_directory(fs, directory)
    return [base_offset for base_offset, _, _ in pieces]


def _last_offset(segment: Segment) -> int:
    """From the last entry of the index on, if there is any sense in that."""
    try:
        start = segment.offset_index.last_position
    except (CorruptIndex, FileNotFoundError):
        start = 0
    last_offset = segment.base_offset
    try:
        for _, header, _ in read_batches(segment.log_file.open(), start, segment.size_bytes):
            last_offset = header.last_offset
    except CorruptBatch:
        pass  # as far as it goes; recovery cuts the rest
    return last_offset


def _pieces(segment: Segment) -> list[Piece]:
    """The last one takes along whatever is no batch at the end."""
    starts = [(segment.base_offset, 0)]
    try:
        for place, header, _ in read_batches(segment.log_file.open(), 0, segment.size_bytes):
            if header.last_offset - starts[-1][0] > MAX_RELATIVE_OFFSET:
                starts.append((header.base_offset, place))
    except CorruptBatch:
        pass
    ends = [place for _, place in starts[1:]] + [segment.size_bytes]
    return [(base, place, end) for (base, place), end in zip(starts, ends, strict=True)]


def _copy(segment: Segment, piece: Piece, path: str) -> None:
    fs = segment.files.fs
    _, position, end = piece
    fd = fs.open(path, REPLACE, 0o644)
    try:
        while position < end:
            wanted = min(_COPY_BYTES, end - position)
            data = segment.log_file.open().read_fully(wanted, position)
            if not data:
                break
            write_all(fs, fd, data)
            position += len(data)
        fs.fsync(fd)
    finally:
        fs.close(fd)
