"""Bringing producer state up to an offset: from the newest snapshot and the batches behind it."""

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.errors import CorruptBatch, CorruptIndex
from barnabas.storage.loading.job import FAR, TooMuchHere
from barnabas.storage.producers.entry import UNKNOWN_MS
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import replay
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments


def rebuild_producers(
    producers: ProducerState,
    segments: Segments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    expiration_ms: int,
    *,
    was_clean: bool = False,
    most_bytes: int = FAR,
) -> None:
    """Make the state that of `end_offset` and save it there.

    After a clean stop without any snapshot the log was written by a Kafka that had none:
    nothing is replayed then, only empty snapshots are left for the next time. Or it is short and
    had no producers (`leaves_snapshot`). Raises TooMuchHere rather than replay more than
    `most_bytes`.
    """
    bases = segments.base_offsets[-2:]
    if was_clean and not producers.snapshots:
        if not producers.leaves_snapshot(segments.size_bytes):
            producers.map_end_offset = end_offset
            return
        for offset in [*bases, end_offset]:
            producers.map_end_offset = offset
            producers.take_snapshot()
        return
    was_empty = producers.is_empty and producers.map_end_offset >= end_offset
    ages = _Ages(segments)
    producers.truncate_and_reload(
        log_start_offset, end_offset, now_ms, expiration_ms, ages.written_by
    )
    if end_offset > producers.map_end_offset and not was_empty:
        to_replay = segments.between(producers.map_end_offset, end_offset)
        size_bytes = sum(segment.size_bytes for segment in to_replay)
        if size_bytes > most_bytes:
            raise TooMuchHere(size_bytes)
        for segment in to_replay:
            start = max(segment.base_offset, producers.map_end_offset, log_start_offset)
            producers.map_end_offset = start
            if segment.base_offset in bases:
                producers.take_snapshot()
            _replay(producers, segment, start, end_offset)
        producers.date(now_ms, expiration_ms, ages.written_by)
    producers.map_end_offset = end_offset
    producers.take_snapshot()


class _Ages:
    """When records had been written, from when their segments' files were last written to.

    A snapshot and a log tell only the timestamps that producers have given their records.
    """

    __slots__ = ("_by_base", "_segments")

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._by_base: dict[int, int] = {}

    def written_by(self, offset: int) -> int:
        """In ms since 1970, at the latest; unknown where the segment has gone."""
        segment = self._segments.floor(offset)
        if segment is None:
            return UNKNOWN_MS
        base = segment.base_offset
        if base not in self._by_base:
            self._by_base[base] = _modified_ms(segment)
        return self._by_base[base]


def _modified_ms(segment: Segment) -> int:
    try:
        return int(segment.files.fs.stat(segment.log_file.path).st_mtime * 1000)
    except FileNotFoundError:
        return UNKNOWN_MS


def _replay(producers: ProducerState, segment: Segment, start: int, end: int) -> None:
    try:
        found = segment.locate(start)
        if found is not None:
            _replay_batches(producers, segment, found[0], start, end)
    except CorruptIndex:  # whoever reads makes it anew; a log that is being opened needs none
        _replay_batches(producers, segment, 0, start, end)
    except CorruptBatch as error:
        producers.damages.append(
            f"{error.reason}; of what follows in segment {segment.base_offset} no producer is known"
        )


def _replay_batches(
    producers: ProducerState, segment: Segment, position: int, start: int, end: int
) -> None:
    for _, header, chunk in read_batches(segment.log_file.open(), position, segment.size_bytes):
        if header.base_offset >= end:
            return
        if header.has_producer_id and header.last_offset >= start:
            replay(producers, chunk, header)
