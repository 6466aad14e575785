"""What a Spark task reads: stretches of segment files, cut where batches begin."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from barnabas.pipeline.log_source.partition_log import PartitionLog, Place, is_credible
from barnabas.pipeline.log_source.segment_files import SegmentFile, batch_at, index_entries
from barnabas.pipeline.log_source.transactions import Aborted
from barnabas.storage.batch.header import MAGIC_V2
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.open_files import OpenFile


@dataclass(frozen=True)
class Piece:
    """The batches in [start position, end position) of a segment, of which the records in
    [start offset, end offset) are read, but for those of the `aborted` transactions."""

    topic_partition: TopicPartition
    directory: str
    file: SegmentFile
    start_position: int
    end_position: int
    start_offset: int
    end_offset: int
    aborted: tuple[Aborted, ...] = ()

    @property
    def size_bytes(self) -> int:
        return self.end_position - self.start_position


def pieces_of(log: PartitionLog, start: int, end: int) -> Iterator[Piece]:
    """One piece for each segment that has offsets of [start, end)."""
    for file in log.overlapping(start, end):
        opened = log.open(file)
        first = log.locate(file, opened, start)
        last = log.locate(file, opened, end)
        size = file.size_bytes
        end_position = last.position
        if last.position < size and last.offset < end:  # the batch goes on below the end
            header = batch_at(opened, last.position, size)
            end_position = header.end + last.position if header is not None else size
        if first.position < end_position:
            yield Piece(
                log.topic_partition, log.directory, file, first.position, end_position,
                max(start, file.base_offset), min(end, log.end_of(file)),
            )  # fmt: skip


def split(piece: Piece, most_bytes: int) -> Iterator[Piece]:
    """The piece in smaller ones of about that size, if its index tells where batches begin."""
    if piece.size_bytes <= most_bytes:
        yield piece
        return
    opened = piece.file.open()
    places = [] if opened is None else _boundaries(piece, opened, most_bytes)
    for place in places:
        yield replace(piece, end_position=place.position, end_offset=place.offset)
        piece = replace(piece, start_position=place.position, start_offset=place.offset)
    yield piece


def _boundaries(piece: Piece, opened: OpenFile, most_bytes: int) -> list[Place]:
    """Batches of format 2, whose headers say where their offsets begin."""
    found: list[Place] = []
    count = -(-piece.size_bytes // most_bytes)
    step = piece.size_bytes / count
    wanted = piece.start_position + step
    for offset, position in index_entries(piece.file):
        if position < wanted or position >= piece.end_position:
            continue
        header = batch_at(opened, position, piece.file.size_bytes)
        if header is None or not is_credible(piece.file, opened, offset, position):
            break
        if header.magic == MAGIC_V2 and piece.start_offset < header.base_offset < piece.end_offset:
            found.append(Place(position, header.base_offset))
            wanted = position + step
    return found


def pack(pieces: Iterable[Piece], most_bytes: int, most_pieces: int = 1000) -> list[list[Piece]]:
    """Neighbours together, up to so many bytes: many small segments are not as many tasks."""
    packs: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        if piece.size_bytes > room or len(packs[-1]) >= most_pieces:
            packs.append([])
            room = most_bytes
        packs[-1].append(piece)
        room -= piece.size_bytes
    return packs
