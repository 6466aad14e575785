"""The common end of every append but the shortest: a checked set of batches goes to disk."""

from barnabas.storage.append.rules import ValidatedRecords
from barnabas.storage.batch.header import MAGIC_V2, NO_TIMESTAMP, BatchHeader
from barnabas.storage.errors import RecordListTooLarge
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.results import AppendInfo
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import ProducerUpdates
from barnabas.storage.producers.verification import TransactionVerification
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment


class BatchWriter:
    """Writes sets of batches whose offsets are final."""

    __slots__ = (
        "_epochs",
        "_offsets",
        "_producers",
        "_store",
        "segment_bytes",
        "verification",
    )

    def __init__(
        self,
        offsets: LogOffsets,
        store: SegmentStore,
        producers: ProducerState,
        epochs: LeaderEpochs,
        segment_bytes: int,
    ) -> None:
        self._offsets = offsets
        self._store = store
        self._producers = producers
        self._epochs = epochs
        self.segment_bytes = segment_bytes
        self.verification = TransactionVerification()
        """Of producers that have no transaction open here; a batch that is written ends it."""

    def prepare(
        self, leader_epoch: int, size: int, timestamp: int, last_offset: int, now_ms: int
    ) -> Segment:
        """Whatever has to happen before a batch is written: the segment to write it to.

        Raises OSError.
        """
        epochs, store = self._epochs, self._store
        if leader_epoch not in (-1, epochs.latest_epoch):
            epochs.assign(leader_epoch, self._offsets.end)
        epochs.write()
        if store.should_roll(size, timestamp, last_offset, now_ms):
            return store.roll(self._offsets.end, now_ms)
        return store.active

    def write(
        self,
        valid: ValidatedRecords,
        updates: ProducerUpdates,
        now_ms: int,
        most_bytes: int,
    ) -> AppendInfo:
        """Write validated batches, and do all that follows from them; raises OSError."""
        headers, offsets, store = valid.headers, self._offsets, self._store
        if not headers:
            return AppendInfo(-1, -1, NO_TIMESTAMP, offsets.start, 0)
        size, timestamp, last_offset = len(valid.buffer), valid.max_timestamp, valid.last_offset
        if size > most_bytes:
            raise RecordListTooLarge(f"{size} bytes exceed segment.bytes {most_bytes}")
        if updates.has_aborted:
            store.reserve_descriptors()  # readers must not miss what was aborted
        self._take_epochs(headers)
        segment = store.active
        if store.should_roll(size, timestamp, last_offset, now_ms):
            segment = store.roll(max(_first_possible_offset(headers), offsets.end), now_ms)
        segment.append_set(valid.buffer, headers)
        offsets.end = self._producers.map_end_offset = last_offset + 1
        self._commit(updates, segment, now_ms)
        for header in headers:
            if header.is_transactional:
                self.verification.end(header.producer_id)
        count = last_offset - valid.first_offset + 1
        return AppendInfo(
            valid.first_offset,
            last_offset,
            timestamp,
            offsets.start,
            count,
            valid.log_append_time_ms,
            converted_count=count if valid.was_rewritten else 0,
        )

    def _commit(self, updates: ProducerUpdates, segment: Segment, now_ms: int) -> None:
        for completed, stable_offset in updates.commit(now_ms):
            if completed.is_aborted:
                segment.note_aborted(completed, stable_offset)
        self._offsets.update_first_unstable()

    def _take_epochs(self, headers: list[BatchHeader]) -> None:
        """Formats 0 and 1 carry no epochs; a log that goes back to them cannot keep any."""
        epochs = self._epochs
        for header in headers:
            if header.magic < MAGIC_V2:
                epochs.clear()
            elif header.partition_leader_epoch not in (-1, epochs.latest_epoch):
                epochs.assign(header.partition_leader_epoch, header.base_offset)
        epochs.write()


def _first_possible_offset(headers: list[BatchHeader]) -> int:
    """Base offset for a segment that starts with these batches.

    A compressed wrapper of the old formats names its last offset only; the first one cannot be
    further away than an index entry reaches.
    """
    first = headers[0]
    if first.magic >= MAGIC_V2:
        return first.base_offset
    return headers[-1].last_offset - MAX_RELATIVE_OFFSET
