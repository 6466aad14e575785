"""Making the transaction index of one segment of an open log anew, from the markers in it."""

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import replay
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments

_NEVER_MS = 1 << 62


def rebuild_aborted(
    segment: Segment,
    segments: Segments,
    known: ProducerState,
    directory: str,
    log_start_offset: int,
    now_ms: int,
) -> None:
    """Find the aborted transactions that end in a segment; `known` are the log's producers.

    Raises OSError, and CorruptBatch if the batches are bad too.
    """
    fs, base_offset = segment.files.fs, segment.base_offset
    below = [offset for offset in known.snapshots if offset <= base_offset]
    producers = ProducerState(fs, directory, below)
    rebuild_producers(producers, segments, log_start_offset, base_offset, now_ms, _NEVER_MS)
    known.snapshots = sorted({*known.snapshots, *producers.snapshots})
    segment.transaction_index.reset()
    for _, header, chunk in read_batches(segment.log_file.open(), 0, segment.size_bytes):
        if header.has_producer_id:
            for completed, stable_offset in replay(producers, chunk, header):
                if completed.is_aborted:
                    segment.note_aborted(completed, stable_offset)
    segment.sync()
    sync_directory(fs, directory)
