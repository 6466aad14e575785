"""The common end of every append but the shortest: a checked set of batches goes to disk."""

from barnabas.storage.append.rules import ValidatedRecords
from barnabas.storage.batch.header import MAGIC_V2, NO_TIMESTAMP, BatchHeader
from barnabas.storage.errors import RecordListTooLarge
from barnabas.storage.log.log_flush import LogFlush
from barnabas.storage.log.results import AppendInfo
from barnabas.storage.producers.updates import ProducerUpdates
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.segment import Segment


class LogWrite(LogFlush):
    """Writing a set of batches whose offsets are final."""

    __slots__ = ()

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Note where a leader epoch begins.

        While it has no record the entry stays in memory: an empty partition costs no file, and
        an epoch is assigned again when the log is led again.
        """
        if self.epochs.assign(epoch, start_offset):
            try:
                self.epochs.write(self.log_end_offset)
            except OSError as error:
                self._fail(error)

    def _prepare(
        self, leader_epoch: int, size: int, timestamp: int, last_offset: int, now_ms: int
    ) -> Segment:
        """Whatever has to happen before a batch is written: the segment to write it to."""
        epochs = self.epochs
        if leader_epoch not in (-1, epochs.latest_epoch):
            epochs.assign(leader_epoch, self.log_end_offset)
        try:
            epochs.write()
            if self._should_roll(self._active, size, timestamp, last_offset, now_ms):
                return self.roll(now_ms)
        except OSError as error:
            self._fail(error)
        return self._active

    def _write_set(
        self, valid: ValidatedRecords, updates: ProducerUpdates, now_ms: int
    ) -> AppendInfo:
        """Write validated batches, and do all that follows from them."""
        headers = valid.headers
        if not headers:
            return AppendInfo(-1, -1, NO_TIMESTAMP, self.log_start_offset, 0)
        size, timestamp, last_offset = len(valid.buffer), valid.max_timestamp, valid.last_offset
        if size > self._segment_bytes:
            raise RecordListTooLarge(f"{size} bytes exceed segment.bytes {self._segment_bytes}")
        self._take_epochs(headers)
        segment = self._active
        if self._should_roll(segment, size, timestamp, last_offset, now_ms):
            segment = self.roll(now_ms, _first_possible_offset(headers))
        segment.append_set(valid.buffer, headers)
        self.log_end_offset = self.producers.map_end_offset = last_offset + 1
        self._commit(updates, segment)
        for header in headers:
            if header.is_transactional:
                self.verification.end(header.producer_id)
        count = last_offset - valid.first_offset + 1
        return AppendInfo(
            valid.first_offset,
            last_offset,
            timestamp,
            self.log_start_offset,
            count,
            valid.log_append_time_ms,
            converted_count=count if valid.was_rewritten else 0,
        )

    def _commit(self, updates: ProducerUpdates, segment: Segment) -> None:
        for completed, stable_offset in updates.commit():
            if completed.is_aborted:
                segment.note_aborted(completed, stable_offset)
        self._update_first_unstable_offset()

    def _take_epochs(self, headers: list[BatchHeader]) -> None:
        """Formats 0 and 1 carry no epochs; a log that goes back to them cannot keep any."""
        epochs = self.epochs
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
